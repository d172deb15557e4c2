"""Generates the methods of the Python API in ``tompion.contract`` from the operations.

Every operation is a method of a resource group, such as ``app.schedules.list``. The everyday ones are also methods of
the app. Parameters, defaults and documentation are those of the operation. ``TYPES`` has the narrower types that type
checkers use.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import tompion
from tompion.contract.routes import ROUTES
from tompion.operations.insight import edit_diff, forecast, preview, problems, stats, summaries, upcoming
from tompion.operations.resources import api_keys, calendars, notifications, targets, workers, workflows
from tompion.operations.runs import callbacks, cancel, read, start
from tompion.operations.schedules import backfills, bulk, control, crud, hints, history
from tompion.operations.verify import audit_chain, schedule

SOURCE = Path(tompion.__file__).parent
FOLDER = "src/tompion/contract"
Operation = Callable[..., Any]


class Method(NamedTuple):
    """An operation as a method.

    ``fixed`` parameters become required and positional, those in ``left_out`` have their defaults. The documentation is
    that of the operation, unless the method does only a part of it.
    """

    operation: Operation
    fixed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    documentation: str = ""


class Class(NamedTuple):
    """A generated class: its name without ``Async``, its bases, its docstring and its methods."""

    name: str
    bases: tuple[str, ...]
    documentation: str
    methods: dict[str, Operation | Method]


MODULES: dict[str, tuple[Class, ...]] = {
    "verbs": (
        Class(
            "Verbs",
            ("Caller",),
            "The everyday methods of schedules.",
            {
                "create": crud.create,
                "put": crud.upsert,
                "update": crud.update,
                "patch": crud.patch,
                "get": crud.get,
                "describe": read.describe,
                "delete": crud.delete,
                "pause": control.pause,
                "resume": control.resume,
                "trigger": control.trigger,
                "backfill": backfills.backfill,
                "preview": preview.preview_for,
            },
        ),
    ),
    "schedules": (
        Class(
            "Schedules",
            ("Group", "Verbs"),
            "All methods of schedules.",
            {
                "list": crud.list_schedules,
                "count": crud.count_schedules,
                "skip": control.skip,
                "unskip": control.unskip,
                "pause_matching": bulk.pause_matching,
                "resume_matching": bulk.resume_matching,
                "trigger_matching": bulk.trigger_matching,
                "backfills": backfills.backfills,
                "get_backfill": backfills.get_backfill,
                "cancel_backfill": backfills.cancel_backfill,
                "hint": hints.hint,
                "hints": hints.hints,
                "clear_hints": hints.clear_hints,
                "reset_failures": hints.reset_failures,
                "history": Method(
                    history.history,
                    fixed=("schedule_id",),
                    left_out=("everything",),
                    documentation="Return the changes of a schedule, the newest first.",
                ),
                "versions": history.versions,
                "restore": history.restore,
                "dropped_ranges": read.dropped_ranges,
                "verify": schedule.verify,
                "diff": edit_diff.diff,
                "summaries": summaries.summaries,
                "same_spec": forecast.same_spec,
            },
        ),
    ),
    "resources": (
        Class(
            "Insight",
            ("Caller",),
            "Figures and problems of all schedules.",
            {
                "upcoming": upcoming.upcoming,
                "stats": stats.stats,
                "forecast": forecast.forecast,
                "problems": problems.problems,
            },
        ),
        Class(
            "Runs",
            ("Group",),
            "All methods of runs.",
            {
                "list": read.runs,
                "recent": read.recent_runs,
                "get": read.run,
                "cancel": cancel.cancel_run,
                "terminate": cancel.terminate_run,
                "retry": cancel.retry_run,
                "start": start.start_run,
                "report": callbacks.report_run,
            },
        ),
        Class(
            "Workflows",
            ("Group",),
            "All methods of stored workflows.",
            {
                "put": workflows.put_workflow,
                "get": workflows.get_workflow,
                "list": workflows.list_workflows,
                "pause": Method(
                    targets.pause_target,
                    fixed=("workflow_id",),
                    left_out=("queue",),
                    documentation="Pause a workflow. Ticks are still recorded, and their runs wait.",
                ),
                "resume": Method(
                    targets.resume_target,
                    fixed=("workflow_id",),
                    left_out=("queue",),
                    documentation="Resume a workflow, and return whether it was paused. Waiting runs start.",
                ),
            },
        ),
        Class(
            "Calendars",
            ("Group",),
            "All methods of named calendars.",
            {
                "put": calendars.put_calendar,
                "get": calendars.get_calendar,
                "list": calendars.list_calendars,
            },
        ),
        Class(
            "Queues",
            ("Group",),
            "All methods of queues.",
            {
                "list": workers.list_queues,
                "pause": Method(
                    targets.pause_target,
                    fixed=("queue",),
                    left_out=("workflow_id",),
                    documentation="Pause a queue. Ticks are still recorded, and their runs wait.",
                ),
                "resume": Method(
                    targets.resume_target,
                    fixed=("queue",),
                    left_out=("workflow_id",),
                    documentation="Resume a queue, and return whether it was paused. Waiting runs start.",
                ),
            },
        ),
        Class(
            "Keys",
            ("Group",),
            "All methods of API keys.",
            {"create": api_keys.create_key, "list": api_keys.list_keys, "revoke": api_keys.revoke_key},
        ),
        Class("Instances", ("Group",), "All methods of engines and workers.", {"list": workers.list_instances}),
        Class(
            "Notifications",
            ("Group",),
            "All methods of notifications.",
            {"list": notifications.list_notifications},
        ),
        Class(
            "Audit",
            ("Group",),
            "All methods of the audit log.",
            {
                "list": Method(
                    history.history,
                    left_out=("schedule_id",),
                    documentation="Return the changes of workflows, calendars and targets, the newest first.\n\n"
                    "With ``everything``, return those of schedules too.",
                ),
                "verify": audit_chain.verify_audit,
            },
        ),
    ),
}
"""The generated modules, and the classes in each."""

TYPES: dict[str, str] = {
    "overlap": "OverlapPolicy",
    "on_resume": "ResumePolicy",
    "role": "RoleName",
    "only": "BackfillFilter",
    "event": "ReportEvent",
    "source": "SourceOfRun",
    "interval_ms": "Milliseconds",
    "ttl_ms": "Milliseconds",
    "schedule_ids": "Sequence[str]",
    "at": "Sequence[When]",
    "bounds": "Sequence[When]",
    "ranges": "Sequence[tuple[When, When]]",
}
"""Types of parameters for type checkers. An operation itself accepts anything and checks it."""
KEPT = {(hints.hint, "at")}
STATUS = {
    crud.list_schedules: "StatusOfSchedule",
    crud.count_schedules: "StatusOfSchedule",
    bulk.pause_matching: "StatusOfSchedule",
    bulk.resume_matching: "StatusOfSchedule",
    bulk.trigger_matching: "StatusOfSchedule",
    read.runs: "StatusOfRun",
    read.recent_runs: "StatusOfRun",
}
"""Types of the parameter ``status``, by operation."""
FIELD_TYPES = {preview.preview_for: "SpecFields"}
"""Types of the fields that an operation takes, if they are not those of a schedule."""
ORIGINS = {
    "Any": "typing",
    "Unpack": "typing",
    "Sequence": "collections.abc",
    "Mapping": "collections.abc",
    "When": "tompion.contract.fields",
}
"""Modules of names in annotations, besides those that the operation's module imports."""
MAX_LINE = 106
HEAD = '''"""{documentation} Generated by ``python -m tests.documentation`` from the operations."""

from __future__ import annotations

{imports}


'''


def method_module(name: str, *, asynchronous: bool) -> str:
    """Return the text of a generated module."""
    prefix = "Async" if asynchronous else "Sync"
    imports: set[tuple[str, str]] = set()
    classes = [_class(kind, imports, asynchronous=asynchronous) for kind in MODULES[name]]
    flavour = "asynchronously" if asynchronous else "synchronously"
    documentation = f"The methods of {name}, {flavour}." if name != "verbs" else f"The everyday methods, {flavour}."
    for kind in MODULES[name]:
        for base in kind.bases:
            if base in ("Caller", "Group"):
                imports.add(("tompion.contract.calls", prefix + base))
            else:
                imports.add((f"tompion.contract.{prefix.lower()}_{base.lower()}", class_name(base, asynchronous)))
    lines = [f"from {module} import {imported}" for module, imported in sorted(imports)]
    head = HEAD.format(documentation=documentation, imports="\n".join(lines))
    return _format(head + "\n\n\n".join(classes))


def class_name(name: str, asynchronous: bool) -> str:
    """Return the name of a generated class."""
    if asynchronous:
        return f"Async{name}"
    return f"Sync{name}" if name in ("Verbs", "Insight") else name


def _class(kind: Class, imports: set[tuple[str, str]], *, asynchronous: bool) -> str:
    prefix = "Async" if asynchronous else "Sync"
    bases = ", ".join(
        prefix + base if base in ("Caller", "Group") else class_name(base, asynchronous) for base in kind.bases
    )
    methods = [
        _method(name, entry if isinstance(entry, Method) else Method(entry), imports, asynchronous=asynchronous)
        for name, entry in kind.methods.items()
    ]
    head = f'class {class_name(kind.name, asynchronous)}({bases}):\n    """{kind.documentation}"""\n\n'
    return head + textwrap.indent("\n\n".join(methods), "    ")


def _method(name: str, method: Method, imports: set[tuple[str, str]], *, asynchronous: bool) -> str:
    """Return the source of one method, and add the imports that it needs."""
    operation = method.operation
    parameters = [
        parameter
        for parameter in list(inspect.signature(operation).parameters.values())[1:]
        if parameter.name not in method.left_out
    ]
    takes_fields = parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    written = ["self"]
    is_keyword_only = False
    fixed = [parameter for parameter in parameters if parameter.name in method.fixed]
    for parameter in [*fixed, *(other for other in parameters if other not in fixed)]:
        annotation = _annotation(operation, parameter)
        if parameter.name in method.fixed:
            written.append(f"{parameter.name}: {annotation.removesuffix(' | None')}")
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            annotation = f"Unpack[{FIELD_TYPES.get(operation, 'ScheduleFields')}]"
            written.append(f"**fields: {annotation}")
        else:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_keyword_only:
                is_keyword_only = True
                written.append("*")
            default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
            written.append(f"{parameter.name}: {annotation}{default}")
        _import_names(operation, annotation, imports)
    returns = inspect.signature(operation).return_annotation
    _import_names(operation, returns, imports)
    call = f"self._{'write' if writes(operation) else 'read'}({_reference(operation, imports)}, locals())"
    verb = "await " if asynchronous else ""
    body = f"{verb}{call}" if returns == "None" else f"return {verb}{call}"
    if takes_fields:
        imports.add(("tompion.contract.calls", "show_fields"))
    documentation = textwrap.indent(_docstring(method), "    ")
    decorator = "@show_fields\n" if takes_fields else ""
    keyword = "async def" if asynchronous else "def"
    return f"{decorator}{keyword} {name}({', '.join(written)}) -> {returns}:\n{documentation}\n    {body}"


def _docstring(method: Method) -> str:
    """Return the docstring of a method, with lines that fit into it."""
    text = method.documentation or inspect.getdoc(method.operation) or ""
    first, *more = text.split("\n")
    if len(first) > MAX_LINE:
        summary, _, rest = first.partition(". ")
        first, more = f"{summary}.", ["", rest, *more]
    lines = [first]
    for line in more:
        lines += textwrap.wrap(line, MAX_LINE) or [""]
    return f'"""{first}"""' if len(lines) == 1 else "\n".join(['"""' + first, *lines[1:], '"""'])


def _annotation(operation: Operation, parameter: inspect.Parameter) -> str:
    annotation = str(parameter.annotation)
    narrower = TYPES.get(parameter.name)
    if parameter.name == "status":
        narrower = STATUS.get(operation)
    if narrower is None or (operation, parameter.name) in KEPT:
        return annotation
    return f"{narrower} | None" if annotation.endswith("| None") else narrower


def _default(value: Any) -> str:
    value = value.value if isinstance(value, Enum) else value
    return repr(value) if value is None or isinstance(value, str | int | tuple) else "..."


def operations() -> list[Operation]:
    """Return the operations that are methods, in the order of the methods."""
    entries = [entry for classes in MODULES.values() for kind in classes for entry in kind.methods.values()]
    return list(dict.fromkeys(entry.operation if isinstance(entry, Method) else entry for entry in entries))


def writes(operation: Operation) -> bool:
    """Return whether an operation writes."""
    return any(route.writes for route in ROUTES if operation in (route.operation, route.if_match))


def _reference(operation: Operation, imports: set[tuple[str, str]]) -> str:
    """Return the expression for an operation, and import its module."""
    package, _, module = operation.__module__.rpartition(".")
    imports.add((package, module))
    return f"{module}.{operation.__name__}"


def _import_names(operation: Operation, annotation: str, imports: set[tuple[str, str]]) -> None:
    tree = ast.parse(inspect.getsource(sys.modules[operation.__module__]))
    origins = {
        alias.name: statement.module or ""
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Name):
            origin = ORIGINS.get(node.id) or origins.get(node.id)
            if origin is None and node.id not in dir(__builtins__):
                local = hasattr(sys.modules[operation.__module__], node.id)
                origin = operation.__module__ if local else "tompion.contract.fields"
            if origin is not None:
                imports.add((origin, node.id))


def _format(text: str) -> str:
    """Return source as ruff formats it."""
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        text = subprocess.run(
            [*ruff, *command, "--stdin-filename", f"{FOLDER}/generated.py", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=SOURCE.parents[1],
        ).stdout
    return text


MODULE_FILES: dict[str, Callable[[str], str]] = {
    f"{FOLDER}/{prefix}_{name}.py": (
        lambda _text, name=name, prefix=prefix: method_module(name, asynchronous=prefix == "async")  # type: ignore[misc]  # the loop's values
    )
    for name in MODULES
    for prefix in ("async", "sync")
}
"""The generated files."""

if __name__ == "__main__":
    for file, generate in MODULE_FILES.items():
        (SOURCE.parents[1] / file).write_text(generate(""), encoding="utf-8")
