"""A Gymnasium loop, an agent that learns the task, and what it asks for.

python examples/first_steps.py
"""

import gymnasium as gym

import fsgym
from agents import RCPI


def play(env: gym.Env, agent: RCPI, index: int) -> None:
    """Let the agent classify one case, and print its questions."""
    data, rules = env.unwrapped.dataset, env.unwrapped.rules
    observation, info = env.reset(options={"index": index})
    terminated, total = False, 0.0
    while not terminated:
        action, _ = agent.predict(observation, action_masks=info["action_mask"])
        if action < rules.n_acquisitions:
            print(f"  asks for {rules.names[action]}")
        observation, reward, terminated, _, info = env.step(action)
        total += float(reward)
    print(f"  answers {data.classes[info['prediction']]}, truth {data.classes[info['label']]}, return {total:.2f}")


def main(n_iterations: int = 10) -> fsgym.Evaluation:
    errors = [[0, 50, 50], [50, 0, 80], [50, 50, 0]]  # [answer, truth]: class 2 taken for class 1 costs most
    task = {"id": "fsgym:DatumWiseCost-v0", "dataset": "wine", "costs": 1.0, "error_costs": errors}
    agent = RCPI(gym.make(**task), n_iterations=n_iterations, random_state=0)
    agent.learn(callback=lambda told: print(f"iteration {told['iteration']}: training loss {told['loss']:.2f}"))

    unseen = gym.make(**task, split="test")
    for index in range(3):
        print(f"case {index}")
        play(unseen, agent, index)
    result = fsgym.evaluate(agent, unseen)
    print(result)
    return result


if __name__ == "__main__":
    main()
