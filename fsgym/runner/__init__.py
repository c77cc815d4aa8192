"""Run independent tasks on this machine or a cluster, and resume interrupted runs, whatever the tasks compute."""

from fsgym.runner.run import Run, run_tasks
from fsgym.runner.task import Task, TaskResult

__all__ = ["Run", "Task", "TaskResult", "run_tasks"]
