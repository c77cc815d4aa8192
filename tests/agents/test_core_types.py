"""Other kinds of CPU: OpenBLAS sums in another order under another core type, and a model is worth the same."""

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

FITTED = """
import json
from agents import MixtureClassifier
from fsgym import load_dataset
train, test = load_dataset("breast_cancer").split(0.5, 0)
model = MixtureClassifier(lam=0.02, random_state=0).fit(train.to_array(), train.y)
X = test.to_array()
losses = (model.predict(X) != test.y) + 0.02 * model.features_used(X).sum(axis=1)
print(json.dumps([model.policy_digest(), losses.tolist()]))
"""


def fitted(core_type):
    """The digest of a model and its losses on test rows, in a process with this core type."""
    environment = os.environ | {"OPENBLAS_CORETYPE": core_type, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", FITTED], env=environment, capture_output=True, text=True, check=True)
    digest, losses = json.loads(run.stdout)
    return digest, np.array(losses)


@pytest.mark.slow  # fits in processes of their own
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="these core types are of x86-64")
def test_the_loss_is_the_same_within_noise_under_another_core_type():
    (one, before), (other, after) = fitted("Nehalem"), fitted("Prescott")
    assert one != other  # the core type has an effect
    assert abs((after - before).mean()) <= before.std() / np.sqrt(len(before))
