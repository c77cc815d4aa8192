"""Run tasks so that nothing finished is lost: on this machine or a cluster, resumable, whatever the tasks calculate."""

from fsgym.runner.run import Run, run_tasks
from fsgym.runner.task import Task, TaskResult

__all__ = ["Run", "Task", "TaskResult", "run_tasks"]
