"""Train MaskablePPO of sb3-contrib on the wine data and evaluate it as all other methods are evaluated.

pip install -e ".[rl]"
python examples/maskable_ppo.py
"""

import fsgym
from fsgym import DatumWiseEnv, Rules, load_dataset

try:
    import torch
    from sb3_contrib import MaskablePPO
except ImportError:
    raise SystemExit("This example needs Stable-Baselines3: pip install 'fsgym[rl]'") from None


def main(total_timesteps: int = 20_000) -> fsgym.Evaluation:
    torch.set_num_threads(1)  # more threads do not help networks as small as these
    train = load_dataset("wine", "train")
    unseen = load_dataset("wine", "test").scaled(train)
    train = train.scaled()
    env = DatumWiseEnv(train, Rules.for_dataset(train, lam=0.02))

    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=256,
        batch_size=128,
        learning_rate=3e-3,
        gamma=1.0,  # the return of an episode is minus its loss
        ent_coef=0.01,
        seed=0,
        device="cpu",
    )
    model.learn(total_timesteps)
    result = fsgym.evaluate(model, unseen, env.rules)
    print(result)
    return result


if __name__ == "__main__":
    main()
