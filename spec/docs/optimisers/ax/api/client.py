"""Stands in for ax.api.client."""
import random


class Client:
    def __init__(self):
        self.random, self.trials, self.told = random.Random(3), {}, {}

    def configure_experiment(self, *, parameters):
        self.parameters = parameters

    def configure_optimization(self, *, objective):
        self.sign, self.metric = (-1, objective[1:]) if objective[0] == "-" else (1, objective)

    def get_next_trials(self, *, max_trials):
        first = len(self.trials)
        fresh = {first + i: {one.name: self.random.uniform(*one.bounds) for one in self.parameters}
                 for i in range(max_trials)}
        self.trials.update(fresh)
        return fresh

    def complete_trial(self, *, trial_index, raw_data):
        assert trial_index in self.trials and set(raw_data) == {self.metric}
        self.told[trial_index] = self.sign * raw_data[self.metric]

    def mark_trial_failed(self, *, trial_index):
        assert trial_index in self.trials
        self.told[trial_index] = float("-inf")

    def get_best_parameterization(self):
        assert len(self.told) == len(self.trials)
        index = max(self.told, key=self.told.get)
        return self.trials[index], {self.metric: self.sign * self.told[index]}, index, "best"
