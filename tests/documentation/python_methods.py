"""Generates the methods of the Python API in ``tompion.contract`` from the operations.

Every operation is a method of a resource group, such as ``app.schedules.list``. The everyday ones are also methods of
the app. Parameters, defaults and documentation are those of the operation. ``TYPES`` has the narrower types that type
checkers use.
"""

from __future__ import annotations

import ast
import builtins
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
from tompion.contract.stubs import OperationStub, insight_stubs, resource_stubs, run_stubs, schedule_stubs

SOURCE = Path(tompion.__file__).parent
FOLDER = "src/tompion/contract"
Operation = OperationStub[..., Any]


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
    """A generated class: its name without ``Async``, its bases, its docstring, its methods and its groups."""

    name: str
    bases: tuple[str, ...]
    documentation: str
    methods: dict[str, Operation | Method]
    groups: dict[str, str] = {}  # noqa: RUF012 - a default that is never changed


MODULES: dict[str, tuple[Class, ...]] = {
    "schedules": (
        Class(
            "Verbs",
            ("Caller",),
            "The everyday methods of schedules.",
            {
                "create": schedule_stubs.create,
                "put": schedule_stubs.upsert,
                "update": schedule_stubs.update,
                "patch": schedule_stubs.patch,
                "get": schedule_stubs.get,
                "describe": run_stubs.describe,
                "delete": schedule_stubs.delete,
                "pause": schedule_stubs.pause,
                "resume": schedule_stubs.resume,
                "trigger": schedule_stubs.trigger,
                "backfill": schedule_stubs.backfill,
                "preview": insight_stubs.preview,
            },
        ),
        Class(
            "Schedules",
            ("Group", "Verbs"),
            "All methods of schedules.",
            {
                "list": schedule_stubs.list_schedules,
                "count": schedule_stubs.count_schedules,
                "skip": schedule_stubs.skip,
                "unskip": schedule_stubs.unskip,
                "pause_matching": schedule_stubs.pause_matching,
                "resume_matching": schedule_stubs.resume_matching,
                "trigger_matching": schedule_stubs.trigger_matching,
                "backfills": schedule_stubs.backfills,
                "get_backfill": schedule_stubs.get_backfill,
                "cancel_backfill": schedule_stubs.cancel_backfill,
                "hint": schedule_stubs.hint,
                "hints": schedule_stubs.hints,
                "clear_hints": schedule_stubs.clear_hints,
                "reset_failures": schedule_stubs.reset_failures,
                "history": Method(
                    schedule_stubs.history,
                    fixed=("schedule_id",),
                    left_out=("everything",),
                    documentation="Return the changes of a schedule, the newest first.",
                ),
                "versions": schedule_stubs.versions,
                "restore": schedule_stubs.restore,
                "dropped_ranges": run_stubs.dropped_ranges,
                "verify": insight_stubs.verify,
                "diff": insight_stubs.diff,
                "summaries": insight_stubs.summaries,
                "same_spec": insight_stubs.same_spec,
            },
        ),
    ),
    "methods": (
        Class(
            "Insight",
            ("Caller",),
            "Figures and problems of all schedules.",
            {
                "upcoming": insight_stubs.upcoming,
                "stats": insight_stubs.stats,
                "forecast": insight_stubs.forecast,
                "problems": insight_stubs.problems,
            },
        ),
        Class(
            "Registrar",
            ("Caller",),
            "Registers schedules, with the names and shapes of the specification.",
            {
                "upsert_schedule": schedule_stubs.upsert_schedule,
                "pause_schedule": schedule_stubs.pause_schedule,
                "delete_schedule": schedule_stubs.delete_schedule,
                "get_schedule": schedule_stubs.get_schedule,
            },
        ),
        Class(
            "Runs",
            ("Group",),
            "All methods of runs.",
            {
                "list": run_stubs.runs,
                "recent": run_stubs.recent_runs,
                "get": run_stubs.get_run,
                "cancel": run_stubs.cancel_run,
                "terminate": run_stubs.terminate_run,
                "retry": run_stubs.retry_run,
                "start": run_stubs.start_run,
                "report": run_stubs.report_run,
            },
        ),
        Class(
            "Workflows",
            ("Group",),
            "All methods of stored workflows.",
            {
                "put": resource_stubs.put_workflow,
                "get": resource_stubs.get_workflow,
                "list": resource_stubs.list_workflows,
                "pause": Method(
                    resource_stubs.pause_target,
                    fixed=("workflow_id",),
                    left_out=("queue",),
                    documentation="Pause a workflow. Ticks are still recorded, and their runs wait.",
                ),
                "resume": Method(
                    resource_stubs.resume_target,
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
                "put": resource_stubs.put_calendar,
                "get": resource_stubs.get_calendar,
                "list": resource_stubs.list_calendars,
            },
        ),
        Class(
            "Queues",
            ("Group",),
            "All methods of queues.",
            {
                "list": resource_stubs.list_queues,
                "pause": Method(
                    resource_stubs.pause_target,
                    fixed=("queue",),
                    left_out=("workflow_id",),
                    documentation="Pause a queue. Ticks are still recorded, and their runs wait.",
                ),
                "resume": Method(
                    resource_stubs.resume_target,
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
            {
                "create": resource_stubs.create_key,
                "list": resource_stubs.list_keys,
                "revoke": resource_stubs.revoke_key,
            },
        ),
        Class("Instances", ("Group",), "All methods of engines and workers.", {"list": resource_stubs.list_instances}),
        Class(
            "Notifications",
            ("Group",),
            "All methods of notifications.",
            {"list": resource_stubs.list_notifications},
        ),
        Class(
            "Audit",
            ("Group",),
            "All methods of the audit log.",
            {
                "list": Method(
                    schedule_stubs.history,
                    left_out=("schedule_id",),
                    documentation="Return the changes of objects that are not schedules, such as keys and workflows, "
                    "the newest first.\n\n"
                    "With ``everything``, return those of schedules too.",
                ),
                "verify": insight_stubs.verify_audit,
            },
        ),
        Class(
            "Methods",
            ("Verbs", "Insight", "Registrar"),
            "Every operation as a method: the everyday verbs, and a group for each kind of resource.",
            {},
            {
                "schedules": "Return the methods of schedules.",
                "runs": "Return the methods of runs.",
                "workflows": "Return the methods of stored workflows.",
                "calendars": "Return the methods of named calendars.",
                "queues": "Return the methods of queues.",
                "keys": "Return the methods of API keys.",
                "instances": "Return the methods of engines and workers.",
                "notifications": "Return the methods of notifications.",
                "audit": "Return the methods of the audit log.",
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
KEPT = {(schedule_stubs.hint, "at")}
STATUS = {
    schedule_stubs.list_schedules: "StatusOfSchedule",
    schedule_stubs.count_schedules: "StatusOfSchedule",
    schedule_stubs.pause_matching: "StatusOfSchedule",
    schedule_stubs.resume_matching: "StatusOfSchedule",
    schedule_stubs.trigger_matching: "StatusOfSchedule",
    run_stubs.runs: "StatusOfRun",
    run_stubs.recent_runs: "StatusOfRun",
}
"""Types of the parameter ``status``, by operation."""
FIELD_TYPES = {insight_stubs.preview: "SpecFields"}
"""Types of the fields that an operation takes, if they are not those of a schedule."""
ORIGINS = {
    "Any": "typing",
    "Unpack": "typing",
    "Sequence": "collections.abc",
    "Mapping": "collections.abc",
}
"""Modules of names in annotations, besides those that the operation's module imports."""
MAX_LINE = 106
CONTENTS = {"schedules": "schedules", "methods": "the app and the clients"}
HEAD = '''"""{documentation} Generated by ``python -m tests.documentation``."""

from __future__ import annotations

{imports}


'''


def method_module(name: str, *, asynchronous: bool) -> str:
    """Return the text of a generated module."""
    imports: set[tuple[str, str]] = set()
    classes = [_class(kind, imports, asynchronous=asynchronous) for kind in MODULES[name]]
    own = {class_name(kind.name, asynchronous) for kind in MODULES[name]}
    lines = [f"from {module} import {imported}" for module, imported in sorted(imports) if imported not in own]
    kind = "asynchronous" if asynchronous else "synchronous"
    head = HEAD.format(documentation=f"The {kind} methods of {CONTENTS[name]}.", imports="\n".join(lines))
    return _format(head + "\n\n\n".join(classes))


def class_name(name: str, asynchronous: bool) -> str:
    """Return the name of a generated class, or of one of its bases."""
    if asynchronous:
        return f"Async{name}"
    return f"Sync{name}" if name in ("Caller", "Group", "Verbs", "Insight", "Registrar", "Methods") else name


def _class(kind: Class, imports: set[tuple[str, str]], *, asynchronous: bool) -> str:
    names = [class_name(base, asynchronous) for base in kind.bases]
    imports.update((_module_of(base, asynchronous), class_name(base, asynchronous)) for base in kind.bases)
    members = [
        _method(name, entry if isinstance(entry, Method) else Method(entry), imports, asynchronous=asynchronous)
        for name, entry in kind.methods.items()
    ]
    for name, documentation in kind.groups.items():
        group = class_name(name.capitalize(), asynchronous)
        imports.add((_module_of(name.capitalize(), asynchronous), group))
        members.append(f'@property\ndef {name}(self) -> {group}:\n    """{documentation}"""\n    return {group}(self)')
    head = f'class {class_name(kind.name, asynchronous)}({", ".join(names)}):\n    """{kind.documentation}"""\n\n'
    return head + textwrap.indent("\n\n".join(members), "    ")


def _module_of(name: str, asynchronous: bool) -> str:
    """Return the module of a class."""
    prefix = "async" if asynchronous else "sync"
    owners = [module for module, classes in MODULES.items() if any(kind.name == name for kind in classes)]
    return f"tompion.contract.{prefix}_{owners[0]}" if owners else "tompion.contract.calls"


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
    return any(route.writes for route in ROUTES if operation in (route.stub, route.if_match))


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
            if origin is None and node.id not in vars(builtins):
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
