"""Checks that the target of a schedule exists, as far as this process knows its executors and functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Any

from tompion.errors import InvalidField
from tompion.executors.registry import ALWAYS_AVAILABLE
from tompion.model.schedule import Action
from tompion.runtime.clock import Clock, SystemClock

MAX_REMEMBERED = 10_000
"""The maximum number of functions that were found, and of those that were not."""
MAX_MISSING_S = 5.0
"""The longest time that a missing function is not searched again. A search reads the directories of ``sys.path``."""


class TargetChecker:
    """Checks actions against the configuration of this process.

    A target that this process lacks is rejected if an engine of this process serves the queue of the schedule.
    Otherwise a worker may have it, and the result has a warning.
    """

    def __init__(
        self,
        executors: Mapping[str, Mapping[str, Any]],
        functions: Callable[[], Mapping[str, Any]],
        served_queues: frozenset[str],
        clock: Clock | None = None,
    ) -> None:
        self._executors = executors
        self._functions = functions
        self._served_queues = served_queues
        self._clock = clock or SystemClock()
        self._existing: set[str] = set()
        self._missing: dict[str, tuple[float, str]] = {}
        """The time until which a missing function is not searched again, and the problem."""

    def __call__(self, action: Action) -> tuple[str, ...]:
        """Return warnings about a target. Raises :class:`~tompion.errors.InvalidField` if it does not exist."""
        if action.function is not None:
            return self._function_warnings(action.function, action.queue)
        if action.executor is None:
            return ()
        problem = self._problem(action.executor, action.options or {})
        if problem is None:
            return self._worker_warnings(action.executor, action.options or {})
        field, text = problem
        if action.queue in self._served_queues:
            raise InvalidField(field, f"{text}; configure it with [executors.{action.executor}] where the engine runs")
        return (f"{field}: {text} in this process. A worker of queue {action.queue!r} must have it",)

    def _problem(self, executor: str, options: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the field that names a missing target, and the problem."""
        if executor not in self._executors and executor not in ALWAYS_AVAILABLE:
            return executor, f"no executor {executor!r} is configured"
        settings = self._executors.get(executor, {})
        for option, setting in _DECLARED.get(executor, {}).items():
            name = options.get(option)
            if name is not None and name not in _declared_names(settings.get(setting, ())):
                field = executor if option == executor else f"{executor}.{option}"
                return field, f"no {option} {name!r} is configured"
        return None

    def _worker_warnings(self, executor: str, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return a warning for a target that only the workers of another system can check."""
        if executor == "celery" and not _has_task(self._executors.get(executor, {}), options.get("task")):
            return (f"celery.task: only a Celery worker can check that the task {options.get('task')!r} exists",)
        if executor == "temporal":
            workflow = options.get("workflow")
            return (f"temporal.workflow: only a Temporal worker can check that the workflow {workflow!r} exists",)
        return ()

    def _function_warnings(self, path: str, queue: str) -> tuple[str, ...]:
        if path in self._existing or path in self._functions():
            return ()
        problem = self._function_problem(path)
        if problem is None:
            return ()
        return (f"function: {problem} in this process. A worker of queue {queue!r} must provide {path!r}",)

    def _function_problem(self, path: str) -> str | None:
        """Return why a function does not exist in this process."""
        now = self._clock.now()
        until, problem = self._missing.get(path, (0.0, ""))
        if until - MAX_MISSING_S <= now < until:
            return problem
        module, _, name = path.partition(":")
        search_result = _module_problem(module) or _attribute_problem(module, name)
        if len(self._existing) >= MAX_REMEMBERED:
            self._existing.clear()
        if len(self._missing) >= MAX_REMEMBERED:
            self._missing.clear()
        if search_result is None:
            self._existing.add(path)
        else:
            self._missing[path] = (now + MAX_MISSING_S, search_result)
        return search_result


_DECLARED: dict[str, dict[str, str]] = {
    "command": {"command": "commands"},
    "http": {"secret": "secrets"},
    "postgres": {"table": "tables", "function": "functions"},
}
"""The options that must name something in a setting of the executor."""


def _declared_names(declared: Any) -> set[str]:
    """Return the declared names. A SQL function can be declared with the types of its arguments."""
    return {str(name).partition("(")[0] for name in declared} if isinstance(declared, Mapping | list | tuple) else set()


def _module_problem(module: str) -> str | None:
    """Return why a module cannot be found. Nothing is imported, because an import runs the user's code."""
    if module in sys.modules:
        return None
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
        name = top
        for part in rest:
            if spec is None:
                break
            name = f"{name}.{part}"
            spec = PathFinder.find_spec(name, spec.submodule_search_locations or [])
    except (ImportError, ValueError, AttributeError):
        spec = None
    return f"there is no module {module!r}" if spec is None else None


def _attribute_problem(module: str, name: str) -> str | None:
    value: Any = sys.modules.get(module)
    if value is None:  # not imported yet
        return None
    for part in name.split("."):
        value = getattr(value, part, None)
    return f"module {module!r} has no {name!r}" if value is None else None


def _has_task(settings: Mapping[str, Any], task: Any) -> bool:
    """Return whether the Celery app is in this process and has a task."""
    module, _, name = str(settings.get("app", "")).partition(":")
    app = getattr(sys.modules.get(module), name or "app", None)
    return task in getattr(app, "tasks", ())
