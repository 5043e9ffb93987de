"""The advisor: pure functions from a workload to GPUs, host, time and a search of the market."""

from marketplace.advisor.candidate_plans import DeadlineTooShort, Plan, TooLarge
from marketplace.advisor.explanations import Step
from marketplace.advisor.recommend import Advice, Needs, advise, query_of
from marketplace.advisor.workload import PRESETS, Family, Precision, Task, Workload, check_workload

__all__ = [
    "PRESETS",
    "Advice",
    "DeadlineTooShort",
    "Family",
    "Needs",
    "Plan",
    "Precision",
    "Step",
    "Task",
    "TooLarge",
    "Workload",
    "advise",
    "check_workload",
    "query_of",
]
