"""A Gymnasium loop, an agent that learns the task, and the features it acquires.

python examples/first_steps.py
"""

import gymnasium as gym

import fsgym
from agents import RCPI


def play(env: gym.Env, agent: RCPI, index: int) -> None:
    """Let the agent classify one case, and print the features it acquires."""
    data, rules = env.unwrapped.dataset, env.unwrapped.rules
    observation, info = env.reset(options={"index": index})
    terminated, total = False, 0.0
    while not terminated:
        action, _ = agent.predict(observation, action_masks=info["action_mask"])
        if action < rules.n_acquisitions:
            print(f"  acquires {rules.names[action]}")
        observation, reward, terminated, _, info = env.step(action)
        total += float(reward)
    predicted, label = data.classes[info["prediction"]], data.classes[info["label"]]
    print(f"  predicts {predicted}, true class {label}, return {total:.2f}")


def main(n_iterations: int = 10) -> fsgym.Evaluation:
    # Cost of each error, {answer: {true class: cost}}: to answer class_1 for a case of class_2 costs most.
    errors = {
        "class_0": {"class_1": 50, "class_2": 50},
        "class_1": {"class_0": 50, "class_2": 80},
        "class_2": {"class_0": 50, "class_1": 50},
    }
    task = {"id": "fsgym:DatumWiseCost-v0", "dataset": "wine", "costs": 1.0, "error_costs": errors}
    agent = RCPI(gym.make(**task), n_iterations=n_iterations, random_state=0)
    agent.learn(callback=lambda info: print(f"iteration {info['iteration']}: training loss {info['loss']:.2f}"))

    unseen = gym.make(**task, split="test")
    for index in range(3):
        print(f"case {index}")
        play(unseen, agent, index)
    result = fsgym.evaluate(agent, unseen)
    print(result)
    return result


if __name__ == "__main__":
    main()
