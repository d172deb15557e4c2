"""Every syntax in English. Every valid cron string has a sentence.

``test_meaning.py`` checks that the sentences are true. ``test_specs.py`` has whole specs.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import InvalidSpec, Spec, compile_spec
from tompion.model.spec import Dialect
from tompion.spec.calendar.cron import CronRule, parse_cron
from tompion.spec.calendar.days import HORIZON
from tompion.spec.explain.specs import describe_cron
from tompion.spec.explain.times import part_of

BERLIN = "Europe/Berlin"
JANUARY = 1_767_225_600
"""2026-01-01T00:00:00Z"""

CRON_STRINGS = [
    # minutes and hours
    ("* * * * *", "Every minute."),
    ("*/15 * * * *", "Every 15 minutes."),
    ("*/1 * * * *", "Every minute."),
    ("0,15,30,45 * * * *", "Every 15 minutes."),
    ("*/7 * * * *", "At minutes 0, 7, 14, … 56 of every hour."),
    ("*/25 * * * *", "At minutes 0, 25 and 50 of every hour."),
    ("5/15 * * * *", "Every 15 minutes, at minutes 5, 20, 35 and 50 of every hour."),
    ("2/5 * * * *", "Every 5 minutes, at minutes 2, 7, 12, … 57 of every hour."),
    ("0 * * * *", "Every hour, on the hour."),
    ("5 * * * *", "At minute 5 of every hour."),
    ("0,30 * * * *", "Every 30 minutes."),
    ("0,10,30 * * * *", "At minutes 0, 10 and 30 of every hour."),
    ("10-20 * * * *", "At minutes 10 to 20 of every hour."),
    ("50-10 * * * *", "At minutes 0 to 10 and 50 to 59 of every hour."),
    ("0,1,2,30 * * * *", "At minutes 0 to 2 and 30 of every hour."),
    ("0 9 * * *", "At 09:00 every day."),
    ("5 9 * * *", "At 09:05 every day."),
    ("0 9,17 * * *", "At 09:00 and 17:00 every day."),
    ("0,30 9,17 * * *", "At 09:00, 09:30, 17:00 and 17:30 every day."),
    ("0 */6 * * *", "At 00:00, 06:00, 12:00 and 18:00 every day."),
    ("0 */2 * * *", "Every 2 hours from 00:00 to 22:00 every day."),
    ("30 1/2 * * *", "Every 2 hours from 01:30 to 23:30 every day."),
    ("0 */5 * * *", "Every 5 hours from 00:00 to 20:00 every day."),
    ("0 9-17 * * *", "Every hour from 09:00 to 17:00 every day."),
    ("0 0-23 * * *", "Every hour from 00:00 to 23:00 every day."),
    ("0,15,30,45 0-23 * * *", "Every 15 minutes from 00:00 to 23:45 every day."),
    ("0 22-2 * * *", "Every hour from 22:00 to 02:00 the next day."),
    ("0 23-1 * * *", "At 23:00, 00:00 and 01:00 every day."),
    ("0 22-2 * * MON", "Every hour from 00:00 to 02:00 and from 22:00 to 23:00, on Mondays."),
    ("*/15 22-2 * * *", "Every 15 minutes from 22:00 to 02:45 the next day."),
    ("* 9 * * *", "Every minute from 09:00 to 09:59 every day."),
    ("* 9-17 * * *", "Every minute from 09:00 to 17:59 every day."),
    ("* 9,17 * * *", "Every minute from 09:00 to 09:59 and from 17:00 to 17:59 every day."),
    ("* */2 * * *", "Every minute of the hours 0, 2, 4, … 22 every day."),
    ("*/15 9-17 * * MON-FRI", "Every 15 minutes from 09:00 to 17:45, Monday to Friday."),
    ("*/15 9,17 * * *", "Every 15 minutes from 09:00 to 09:45 and from 17:00 to 17:45 every day."),
    ("*/15 */2 * * *", "At minutes 0, 15, 30 and 45 of the hours 0, 2, 4, … 22 every day."),
    ("*/7 9-17 * * *", "At minutes 0, 7, 14, … 56 of every hour from 09:00 to 17:59 every day."),
    ("*/7 9 * * *", "Every 7 minutes from 09:00 to 09:56 every day."),
    ("*/7 22-2 * * *", "At minutes 0, 7, 14, … 56 of every hour from 22:00 to 02:59 the next day."),
    ("0 8-12,14,20 * * *", "Every hour from 08:00 to 12:00, and at 14:00 and 20:00 every day."),
    ("0 0,2,4,5,6,7,9,11,13,15,20 * * *", "At minute 0 of the hours 0, 2, 4 to 7, 9, 11, 13, 15 and 20 every day."),
    # seconds
    ("* * * * * *", "Every second."),
    ("*/10 * * * * *", "Every 10 seconds."),
    ("*/7 * * * * *", "At seconds 0, 7, 14, … 56 of every minute."),
    ("30 * * * * *", "At second 30 of every minute."),
    ("5/15 * * * * *", "Every 15 seconds, at seconds 5, 20, 35 and 50 of every minute."),
    ("30 5 * * * *", "At minute 5 and second 30 of every hour."),
    ("30 0 * * * *", "At minute 0 and second 30 of every hour."),
    ("30 */15 * * * *", "Every 15 minutes, at second 30 of minutes 0, 15, 30 and 45 of every hour."),
    ("15 30 9 * * *", "At 09:30:15 every day."),
    ("0/20 30 9 * * *", "At 09:30:00, 09:30:20 and 09:30:40 every day."),
    ("* 30 9 * * *", "Every second from 09:30:00 to 09:30:59 every day."),
    ("* 0,30 * * * *", "Every second of minutes 0 and 30 of every hour."),
    ("* * 9-17 * * *", "Every second from 09:00:00 to 17:59:59 every day."),
    ("*/10 * 9-17 * * *", "Every 10 seconds from 09:00:00 to 17:59:50 every day."),
    (
        "*/7 0,30 9,10,15,20 * * *",
        "At seconds 0, 7, 14, … 56 of minutes 0 and 30 of the hours 9, 10, 15 and 20 every day.",
    ),
    # weekdays
    ("0 9 * * MON-FRI", "At 09:00, Monday to Friday."),
    ("0 9 * * 1-5", "At 09:00, Monday to Friday."),
    ("0 9 * * SUN", "At 09:00, on Sundays."),
    ("0 9 * * 7", "At 09:00, on Sundays."),
    ("0 9 * * SAT,SUN", "At 09:00, on Saturdays and Sundays."),
    ("0 9 * * MON,WED,FRI", "At 09:00, on Mondays, Wednesdays and Fridays."),
    ("0 9 * * FRI-MON", "At 09:00, Friday to Monday."),
    ("0 9 * * SUN-THU", "At 09:00, Sunday to Thursday."),
    ("0 9 * * */2", "At 09:00, on Tuesdays, Thursdays, Saturdays and Sundays."),
    ("0 9 * * 0-6", "At 09:00 every day."),
    ("0 0 * * 5#3", "At 00:00, on the third Friday of the month."),
    ("0 0 * * MON#1", "At 00:00, on the first Monday of the month."),
    ("0 0 * * FRIL", "At 00:00, on the last Friday of the month."),
    ("0 0 * * 5L", "At 00:00, on the last Friday of the month."),
    ("0 0 * * 1#1,1#3", "At 00:00, on the first Monday and the third Monday of the month."),
    ("0 9 * * MON,5#2", "At 09:00, on Mondays and on the second Friday of the month."),
    # days of the month
    ("0 0 13 * *", "At 00:00, on the 13th of the month."),
    ("0 0 1,15 * *", "At 00:00, on the 1st and 15th of the month."),
    ("0 0 1-7 * *", "At 00:00, on the 1st to 7th of the month."),
    ("0 0 */2 * *", "At 00:00, on the 1st, 3rd, 5th, … 31st of the month."),
    ("0 0 1,15,L * *", "At 00:00, on the 1st, the 15th and the last day of the month."),
    ("0 0 L * *", "At 00:00, on the last day of the month."),
    ("0 0 L-1 * *", "At 00:00, on the day before the last day of the month."),
    ("0 0 L-3 * *", "At 00:00, on the 3rd day before the last day of the month."),
    ("0 0 LW * *", "At 00:00, on the last weekday (Monday to Friday) of the month."),
    (
        "0 0 L-3W * *",
        "At 00:00, on the weekday (Monday to Friday) nearest the 3rd day before the last day of the month.",
    ),
    ("0 0 15W * *", "At 00:00, on the weekday (Monday to Friday) nearest the 15th of the month."),
    ("0 0 1W * *", "At 00:00, on the weekday (Monday to Friday, in the same month) nearest the 1st of the month."),
    ("0 0 31W * *", "At 00:00, on the weekday (Monday to Friday, in the same month) nearest the 31st of the month."),
    # both day fields
    ("0 0 13 * 5", "At 00:00, on the 13th of the month or on a Friday."),
    ("0 0 13 * +5", "At 00:00, on the 13th of the month if it is a Friday."),
    ("0 0 1,15 * MON,FRI", "At 00:00, on the 1st and 15th of the month or on a Monday or Friday."),
    ("0 0 1 * 1-5", "At 00:00, on the 1st of the month or on any day from Monday to Friday."),
    ("0 0 1-7 * +MON", "At 00:00, on the 1st to 7th of the month, but only on Mondays."),
    ("0 0 */2 * MON", "At 00:00, on the 1st, 3rd, 5th, … 31st of the month, but only on Mondays."),
    ("0 0 15 * 5#3", "At 00:00, on the 15th of the month or on the third Friday of the month."),
    ("0 0 L * +5", "At 00:00, on the last day of the month if it is a Friday."),
    ("0 0 1-31 * 5", "At 00:00 every day."),
    ("0 0 13 1 5", "At 00:00, in January, on the 13th of the month or on a Friday."),
    ("0 0 13 1,7 +5", "At 00:00, on the 13th of January and July, but only on Fridays."),
    ("0 0 ? * MON", "At 00:00, on Mondays."),
    # months
    ("@yearly", "At 00:00, on 1 January."),
    ("@monthly", "At 00:00, on the 1st of the month."),
    ("@weekly", "At 00:00, on Sundays."),
    ("@daily", "At 00:00 every day."),
    ("@hourly", "Every hour, on the hour."),
    ("0 0 25 12 *", "At 00:00, on 25 December."),
    ("0 12 * JAN *", "At 12:00 every day in January."),
    ("0 12 * JAN,JUL *", "At 12:00 every day in January and July."),
    ("0 12 * MAR-OCT *", "At 12:00 every day from March to October."),
    ("0 12 * NOV-FEB MON-FRI", "At 12:00, Monday to Friday, from November to February."),
    ("0 12 1 */3 *", "At 12:00, on the 1st of January, April, July and October."),
    ("0 12 1,15 6 *", "At 12:00, on the 1st and 15th of June."),
    ("0 12 L 3-9 *", "At 12:00, on the last day of each month from March to September."),
    ("0 12 * 1 5#3", "At 12:00, on the third Friday of January."),
    ("*/15 * * 1 *", "Every 15 minutes, in January."),
    # years
    ("0 0 12 1 1 * 2026", "At 12:00, on 1 January 2026."),
    ("0 0 12 * * * 2026", "At 12:00 every day in 2026."),
    ("0 0 12 * 3 * 2026", "At 12:00 every day in March 2026."),
    ("0 0 12 * * * 2026-2030", "At 12:00 every day in the years 2026 to 2030."),
    ("0 0 12 * * MON 2026,2028", "At 12:00, on Mondays, in 2026 and 2028."),
    ("0 0 12 1 * * 2026/1", "At 12:00, on the 1st of the month, from 2026 on."),
    ("0 0 12 ? * MON 2026/2", "At 12:00, on Mondays, in 2026, 2028, 2030, … 2200."),
    ("0 0 12 * 3-5 * 2026", "At 12:00 every day from March to May 2026."),
    # what the schedule's id chooses
    ("H * * * *", "Every hour, at a minute chosen by the schedule's id."),
    ("H H * * *", "At an hour and a minute chosen by the schedule's id, every day."),
    ("H 9 * * *", "From 09:00 to 09:59, at a minute chosen by the schedule's id, every day."),
    ("H 9-17 * * *", "Every hour from 09:00 to 17:59, at a minute chosen by the schedule's id, every day."),
    ("H 9,12 * * MON", "In the hours 9 and 12, at a minute chosen by the schedule's id, on Mondays."),
    ("0 H * * *", "At minute 0 of an hour chosen by the schedule's id, every day."),
    ("H/15 * * * *", "Every hour, at every 15th minute beginning with one from 0 to 14 chosen by the schedule's id."),
    ("H(0-29) * * * *", "Every hour, at a minute from 0 to 29 chosen by the schedule's id."),
    (
        "H(0-29)/10 * * * *",
        "Every hour, at every 10th minute up to 29, beginning with one from 0 to 9 chosen by the schedule's id.",
    ),
    (
        "H(0-29) H(0-7) * * *",
        "At an hour from 0 to 7 and a minute from 0 to 29 chosen by the schedule's id, every day.",
    ),
    ("0 0 H * *", "At 00:00, on a day from the 1st to the 28th of the month, chosen by the schedule's id."),
    ("0 0 * * H", "At 00:00, on a day of the week chosen by the schedule's id."),
    ("0 0 * * H(1-5)", "At 00:00, on a day of the week from Monday to Friday chosen by the schedule's id."),
    ("0 0 * H *", "At 00:00 every day in a month chosen by the schedule's id."),
    ("0 0 1 H *", "At 00:00, on the 1st of the month, in a month chosen by the schedule's id."),
    (
        "0 0 H * 5",
        "At 00:00, on a day from the 1st to the 28th of the month, chosen by the schedule's id, or on a Friday.",
    ),
    ("H * * * * *", "Every minute, at a second chosen by the schedule's id."),
    ("H H H * * *", "At an hour, a minute and a second chosen by the schedule's id, every day."),
    ("30 H * * * *", "Every hour, at second 30 of a minute chosen by the schedule's id."),
    ("H,30 * * * *", "Every hour, at minute 30 and a minute chosen by the schedule's id."),
    ("H/1 * * * *", "Every minute."),
    # shorthands, zones and comments
    ("@every 15m", "Every 15 minutes."),
    ("@every 1s", "Every second."),
    ("@every 1h", "Every hour, counted from 00:00 UTC."),
    ("@every 90m", "Every 90 minutes, counted from 00:00 UTC."),
    ("@every 90m/5m", "Every 90 minutes, counted from 00:05 UTC."),
    ("@every 7h", "Every 7 hours, counted from 1970-01-01 00:00 UTC."),
    ("@every 1d", "Every day at 00:00 UTC."),
    ("@every 1d/9h", "Every day at 09:00 UTC."),
    ("@every 36h", "Every 36 hours, counted from 1970-01-01 00:00 UTC."),
    ("@every 1w", "Every week, on Thursday at 00:00 UTC."),
    ("@every 3d/1h", "Every 3 days at 01:00 UTC, counted from 1970-01-01."),
    ("@every 2h30m", "Every 2 hours and 30 minutes, counted from 1970-01-01 00:00 UTC."),
    ("CRON_TZ=Asia/Tokyo 0 9 * * *", "At 09:00 every day, in Asia/Tokyo time."),
    ("TZ=UTC */15 * * * *", "Every 15 minutes, in UTC."),
    ("0 9 * * * # backup", "At 09:00 every day."),
]

DIALECTS: list[tuple[Dialect, str, str]] = [
    ("quartz", "0 0 9 ? * 2-6", "At 09:00, Monday to Friday."),
    ("quartz", "0 0 9 ? * L", "At 09:00, on Saturdays."),
    ("quartz", "0 0 9 ? * 6L", "At 09:00, on the last Friday of the month."),
    ("quartz", "0 0 9 ? * 6#3", "At 09:00, on the third Friday of the month."),
    ("quartz", "0 0 9 L-2 * ?", "At 09:00, on the 2nd day before the last day of the month."),
    ("quartz", "0 0/5 14 * * ?", "Every 5 minutes from 14:00 to 14:55 every day."),
    ("quartz", "0 15 10 15 * ? 2026", "At 10:15, on the 15th of the month, in 2026."),
    ("quartz", "/10 * * * * ?", "Every 10 seconds."),
    ("temporal", "30 2 13 * 5", "At 02:30, on the 13th of the month if it is a Friday."),
    ("temporal", "30 2 * * 5 2027", "At 02:30, on Fridays, in 2027."),
    ("temporal", "0 30 2 * * * 2027-2028", "At 02:30 every day in 2027 and 2028."),
    ("temporal", "0 9 * * mon-fri", "At 09:00, Monday to Friday."),
    ("temporal", "@daily", "At 00:00 every day."),
]

RECURRENCE_RULES = [
    ("FREQ=DAILY", "At 00:00 every day"),
    ("FREQ=DAILY;BYMONTH=1", "At 00:00 every day in January"),
    ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=30", "At 09:30 and 17:30 every day"),
    ("FREQ=DAILY;INTERVAL=3", "At 00:00 every 3 days, counted from 1970-01-01"),
    (
        "FREQ=DAILY;INTERVAL=10;BYDAY=MO;BYMONTH=1",
        "At 00:00 every 10 days, counted from 1970-01-01, but only on Mondays and in January",
    ),
    ("FREQ=WEEKLY", "At 00:00, on Thursdays"),
    ("FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9", "At 09:00, on Mondays and Fridays"),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU", "At 00:00 every day"),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9",
        "At 09:00, on Mondays, in every 2nd week counted from the week of 1970-01-01",
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU",
        "At 00:00, on Sundays, in every 2nd week counted from the week of 1970-01-01, weeks beginning on Sunday",
    ),
    ("FREQ=MONTHLY", "At 00:00, on the 1st of the month"),
    ("FREQ=MONTHLY;BYMONTHDAY=-1", "At 00:00, on the last day of the month"),
    ("FREQ=MONTHLY;BYMONTHDAY=1,15,-3", "At 00:00, on the 1st, the 15th and the third-to-last day of the month"),
    ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "At 00:00, on the 13th of the month if it is a Friday"),
    ("FREQ=MONTHLY;BYDAY=1MO,-1FR;BYHOUR=9", "At 09:00, on the first Monday and the last Friday of the month"),
    ("FREQ=MONTHLY;BYDAY=-2TH", "At 00:00, on the second-to-last Thursday of the month"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "At 00:00, Monday to Friday, only the last of these each month"),
    (
        "FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1,-1",
        "At 00:00, on Saturdays and Sundays, only the first and the last of these each month",
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO",
        "At 00:00, on the first Monday of the month, in every 2nd month counted from January 1970",
    ),
    ("FREQ=YEARLY", "At 00:00, on 1 January"),
    ("FREQ=YEARLY;BYMONTH=3", "At 00:00, on 1 March"),
    ("FREQ=YEARLY;BYMONTHDAY=1", "At 00:00, on the 1st of the month"),
    ("FREQ=YEARLY;BYMONTH=1,7;BYDAY=1MO", "At 00:00, on the first Monday of January and July"),
    ("FREQ=YEARLY;BYDAY=20MO", "At 00:00, on the 20th Monday of the year"),
    ("FREQ=YEARLY;BYYEARDAY=100", "At 00:00, on day 100 of the year"),
    ("FREQ=YEARLY;BYYEARDAY=1,100,-1", "At 00:00, on days 1 and 100 and the last day of the year"),
    ("FREQ=YEARLY;BYYEARDAY=100;BYDAY=FR", "At 00:00, on day 100 of the year if it is a Friday"),
    ("FREQ=YEARLY;BYWEEKNO=20", "At 00:00 every day in week 20 of the year"),
    (
        "FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=MO;WKST=SU",
        "At 00:00, on Mondays, in week 1 and the last week of the year, weeks beginning on Sunday",
    ),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYMONTHDAY=2,3,4,5,6,7,8;BYDAY=TU",
        "At 00:00, on the 2nd to 8th of November, but only on Tuesdays, in every 4th year counted from 1970",
    ),
    ("FREQ=HOURLY", "Every hour, on the hour"),
    ("FREQ=HOURLY;BYMINUTE=0,30", "Every 30 minutes"),
    ("FREQ=HOURLY;INTERVAL=2", "Every 2 hours, counted from 1970-01-01 00:00"),
    (
        "FREQ=HOURLY;INTERVAL=2;BYHOUR=9,10,11,12,13",
        "Every 2 hours, counted from 1970-01-01 00:00, only from 09:00 to 13:59",
    ),
    (
        "FREQ=HOURLY;INTERVAL=3;BYMINUTE=0,30;BYDAY=MO",
        "At minutes 0 and 30 of every 3rd hour, counted from 1970-01-01 00:00, but only on Mondays",
    ),
    ("FREQ=HOURLY;BYMINUTE=0,20,40;BYSETPOS=-1", "Every 20 minutes, only the last of these each hour"),
    ("FREQ=MINUTELY", "Every minute"),
    ("FREQ=MINUTELY;BYMINUTE=0,15,30,45", "Every 15 minutes"),
    ("FREQ=MINUTELY;INTERVAL=45", "Every 45 minutes, counted from 1970-01-01 00:00"),
    (
        "FREQ=MINUTELY;INTERVAL=7;BYMINUTE=0,30;BYHOUR=9,12",
        (
            "Every 7 minutes, counted from 1970-01-01 00:00, only in the hours 9 and 12, "
            "only in minutes 0 and 30 of the hour"
        ),
    ),
    (
        "FREQ=MINUTELY;INTERVAL=2;BYSECOND=0,30",
        "At seconds 0 and 30 of every 2nd minute, counted from 1970-01-01 00:00",
    ),
    ("FREQ=SECONDLY;INTERVAL=90", "Every 90 seconds, counted from 1970-01-01 00:00"),
    ("FREQ=DAILY;UNTIL=20261231", "At 00:00 every day, until the end of 2026-12-31"),
    ("FREQ=DAILY;UNTIL=20261231T170000", "At 00:00 every day, until 2026-12-31 17:00 at the latest"),
    ("FREQ=DAILY;UNTIL=20261231T170000Z", "At 00:00 every day, until 2026-12-31 17:00 UTC at the latest"),
    ("DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY", "At 09:00, on Mondays, from 2026-01-05 09:00 on"),
    (
        "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=10",
        "At 09:00, on Mondays, only the first 10 occurrences from 2026-01-05 09:00 on",
    ),
    (
        "DTSTART:20260105T090000\nRRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO",
        (
            "At 09:00, on the first Monday of the month, in every 2nd month counted from January 2026, "
            "from 2026-01-05 09:00 on"
        ),
    ),
]


@pytest.mark.parametrize(("cron", "sentence"), CRON_STRINGS)
def test_cron_string_is_described(cron: str, sentence: str) -> None:
    assert describe_cron(cron) == sentence


@pytest.mark.parametrize(("dialect", "cron", "sentence"), DIALECTS)
def test_cron_string_of_another_dialect_is_described(dialect: Dialect, cron: str, sentence: str) -> None:
    assert describe_cron(cron, dialect) == sentence


@pytest.mark.parametrize(("rule", "sentence"), RECURRENCE_RULES)
def test_recurrence_rule_is_described(rule: str, sentence: str) -> None:
    assert Spec(rrules=rule, timezone=BERLIN).explain() == f"{sentence}, in Europe/Berlin time."


def test_invalid_cron_string_is_rejected() -> None:
    with pytest.raises(InvalidSpec):
        describe_cron("61 * * * *")


# --- cadences ---------------------------------------------------------------------------------------------------

EVERY = re.compile(r"Every (?:(\d+) )?(second|minute|hour)s?(?:\.|, (?!in January))")
UNITS = {"second": 1, "minute": 60, "hour": 3600}


@pytest.mark.parametrize("cron", [cron for cron, sentence in CRON_STRINGS if EVERY.match(sentence) and "H" not in cron])
def test_cadence_without_bounds_is_described_as_one(cron: str) -> None:
    """The phrase "every 15 minutes" must also hold from the end of one day to the beginning of the next."""
    match = EVERY.match(describe_cron(cron))
    assert match
    step = int(match[1] or 1) * UNITS[match[2]]
    ticks = islice(compile_spec(cron).between_epochs(JANUARY - 7199, HORIZON), 20_000 // step + 100)
    assert {after - before for before, after in pairwise(ticks)} == {step}


@pytest.mark.parametrize("step", range(1, 60))
def test_uneven_minute_steps_are_not_described_as_even(step: int) -> None:
    cron = f"*/{step} * * * *"
    ticks = list(islice(compile_spec(cron).between_epochs(JANUARY, HORIZON), 200))
    even = len({after - before for before, after in pairwise(ticks)}) == 1
    assert describe_cron(cron).startswith("Every ") == even


SAME = [
    ("FREQ=DAILY;BYHOUR=9", "0 9 * * *"),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9", "0 9 * * MON-FRI"),
    ("FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=8;BYMINUTE=30", "30 8 * * SAT,SUN"),
    ("FREQ=MONTHLY;BYMONTHDAY=-1", "0 0 L * *"),
    ("FREQ=MONTHLY;BYDAY=3FR", "0 0 * * 5#3"),
    ("FREQ=MONTHLY;BYDAY=-1FR", "0 0 * * FRIL"),
    ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "0 0 13 * +5"),
    ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25", "0 0 25 12 *"),
    ("FREQ=YEARLY", "@yearly"),
    ("FREQ=WEEKLY;BYMONTH=3,4,5;BYDAY=MO", "0 0 * 3-5 MON"),
    ("FREQ=HOURLY", "@hourly"),
    ("FREQ=MINUTELY;BYMINUTE=0,7,14,21,28,35,42,49,56", "*/7 * * * *"),
    ("FREQ=MINUTELY;BYHOUR=9,10,11", "* 9-11 * * *"),
    ("FREQ=SECONDLY;BYSECOND=0,10,20,30,40,50", "*/10 * * * * *"),
]


@pytest.mark.parametrize(("rule", "cron"), SAME)
def test_equal_specs_in_two_syntaxes_read_the_same(rule: str, cron: str) -> None:
    one, other = Spec(rrules=rule), Spec(cron=cron)
    assert one.explain() == other.explain()
    assert one.upcoming(50, JANUARY) == other.upcoming(50, JANUARY)


# --- every valid string -----------------------------------------------------------------------------------------


def fields(low: int, high: int, *special: str) -> st.SearchStrategy[str]:
    """Draw a field: one to three items of any form."""
    number = st.integers(low, high)
    step = st.integers(1, high)
    items = st.one_of(
        st.just("*"),
        number.map(str),
        st.builds("{}-{}".format, number, number),
        st.builds("*/{}".format, step),
        st.builds("{}/{}".format, number, step),
        st.builds("{}-{}/{}".format, number, number, step),
        st.sampled_from(("H", *special)),
    )
    return st.lists(items, min_size=1, max_size=3).map(",".join)


STRINGS = st.builds(
    "{} {} {} {} {} {}{}".format,
    st.one_of(st.just("0"), fields(0, 59, "H(0-29)")),
    fields(0, 59, "H/7", "H(0-29)/10"),
    fields(0, 23, "H(0-7)", "H/6"),
    fields(1, 31, "L", "L-3", "LW", "L-2W", "15W", "1W", "H/7", "H(1-5)"),
    fields(1, 12, "JAN", "H/3", "H(3-9)"),
    st.sampled_from(("", "+")),
    fields(0, 6, "5#3", "FRIL", "H(1-5)", "H(7-7)", "H/2", "MON-FRI"),
)
MAX_CHARS = 1_200
"""Three long lists of minutes, seconds and days, none of which can be shortened."""


@given(STRINGS)
def test_every_restricted_field_is_mentioned(cron: str) -> None:
    rule = parse_cron(cron)
    assert isinstance(rule, CronRule)
    text = Spec(cron=cron).explain()
    assert text == Spec(cron=cron).explain()
    assert re.fullmatch(r"[A-Z].*[\w)]\.", text), text
    assert "\n" not in text
    assert "  " not in text
    assert ",," not in text
    assert len(text) <= MAX_CHARS
    if any(part_of(field).choices for field in (rule.second, rule.minute, rule.hour, rule.month)):
        assert "chosen by the schedule's id" in text
    if not rule.hour.full:
        assert re.search(r"\d\d:\d\d|hour", text)
    if not rule.month.full:
        assert re.search(
            r"January|February|March|April|May|June|July|August|Sept|Octo|Novem|Decem|a month|th from", text
        )
    if not rule.day_of_week.full and not (rule.either_day and rule.day_of_month.full):
        assert re.search(r"day\b|days\b", text)
    if not rule.day_of_month.full and not (rule.either_day and rule.day_of_week.full):
        assert re.search(r"\d(?:st|nd|rd|th)\b|last|\bon \d+ [A-Z]", text)
