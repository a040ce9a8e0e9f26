"""Stands in for ax.api.configs."""


class RangeParameterConfig:
    def __init__(self, *, name, parameter_type, bounds, scaling=None):
        assert parameter_type in ("float", "int") and scaling in (None, "linear", "log")
        self.name, self.bounds = name, bounds
