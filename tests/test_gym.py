"""Environments: they obey Gymnasium's rules, are the same for one robot and for many, and end well when a robot does not."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant as pl

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import pliant.gym as rooms  # noqa: E402
from pliant.control.window import StepError  # noqa: E402

CACHE: dict[str, rooms.Task] = {}


def task(name: str) -> rooms.Task:
    if name not in CACHE:
        CACHE[name] = rooms.TASKS[name]()
    return CACHE[name]


def actions(task: rooms.Task, steps: int, count: int = 1) -> np.ndarray:
    """Smooth ones."""
    rng, a, out = np.random.default_rng(0), np.zeros((count, task.actions)), []
    for _ in range(steps):
        a = np.clip(0.9 * a + 0.3 * rng.uniform(-1, 1, a.shape), -1, 1)
        out.append(a)
    return np.array(out)


@pytest.mark.parametrize("name", rooms.TASKS)
def test_the_checker_is_content(name):
    env = rooms.Env(task(name), render_mode="rgb_array")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env, skip_close_check=True)
    said = [str(entry.message) for entry in said]
    assert all("infinity" in text or "spec" in text for text in said), (
        said
    )  # observations have no bounds; it was not made by name
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (360, 480, 3)
    assert picture.std() > 1  # there is something to see
    env.close()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", rooms.TASKS)
def test_many_are_as_one(name, threads):
    n, steps = 3, 8
    many = rooms.ManyEnv(task(name), n, threads=threads)
    A = actions(task(name), steps, n)
    seen = [many.reset(seed=5)[0]]
    rewards = []
    for a in A:
        now, reward, ended, cut, info = many.step(a)
        assert not (ended | cut | info["failed"]).any()
        seen.append(now)
        rewards.append(reward)
    for k in range(n):
        env = rooms.Env(task(name))
        np.testing.assert_array_equal(env.reset(seed=5 + k)[0], seen[0][k])
        for j, a in enumerate(A[:, k]):
            now, reward, _ended, _cut, _info = env.step(a)
            np.testing.assert_array_equal(now, seen[j + 1][k])
            assert reward == rewards[j][k]
    many.close()


class Short(rooms.Reach):
    horizon = 3


@pytest.fixture(scope="module")
def short() -> rooms.Task:
    return Short(task("Reach").system)


def test_episodes_begin_again(short):
    A = actions(short, 8, 2)
    many = rooms.ManyEnv(short, 2)
    first = many.reset(seed=1)[0]
    cuts, seen, rewards = [], [], []
    for a in A:
        now, reward, _ended, cut, _info = many.step(a)
        cuts.append(cut.tolist())
        seen.append(now)
        rewards.append(reward)
    assert [any(c) for c in cuts] == [False, False, True, False, False, False, True, False]
    np.testing.assert_array_equal(rewards[3], 0.0)
    np.testing.assert_array_equal(seen[3][:, :3], first[:, :3])  # the tip where it was,
    assert not np.any(seen[3][:, 6:9] == first[:, 6:9])  # the goal elsewhere
    same = rooms.ManyEnv(short, 2, autoreset="same")
    same.reset(seed=1)
    for k, a in enumerate(A[:3]):
        now, reward, _ended, cut, info = same.step(a)
        np.testing.assert_array_equal(reward, rewards[k])
    assert cut.all()
    np.testing.assert_array_equal(info["final_obs"], seen[2])
    np.testing.assert_array_equal(now, seen[3])
    many.step(A[0])
    many.reset(options={"reset_mask": np.array([True, False])})
    assert many.flock.age.tolist() == [0, 1]


def test_a_flock_refuses_a_second_thread():
    """Its own threads are no others."""
    many = rooms.ManyEnv(task("Reach"), 4, threads=2)
    many.reset(seed=0)
    flock, U, every = many.flock, np.zeros((4, task("Reach").system.nu)), np.ones(4, dtype=bool)
    with ThreadPoolExecutor(1) as pool, flock._turn.lock:
        for call in (lambda: flock.step(U, every), lambda: flock.reset(0, None), lambda: flock.place(0, flock.q[0])):
            with pytest.raises(RuntimeError, match="another thread is at work on the same Flock"):
                pool.submit(call).result()
    assert not flock.step(U, every).any()
    many.close()


def test_they_are_registered():
    env = gymnasium.make("pliant/FollowBall-v0")
    assert env.observation_space.shape == (16,)
    assert env.spec.id == "pliant/FollowBall-v0"
    many = gymnasium.make_vec("pliant/FollowBall-v0", num_envs=2, threads=2)
    assert many.reset(seed=0)[0].shape == (2, 16)
    many.close()


def test_the_published_task():
    """Its numbers, and that the ball moves as it is told."""
    ball = task("FollowBall")
    parameters = ball.system.parameters
    assert parameters["arm.young"] == 250e3
    assert parameters["arm.poisson"] == 0.37
    assert ball.system.nv == 6
    assert ball.system.rod_length("arm") == 0.25
    flock = rooms.Flock(ball, 5)
    for k in range(5):
        flock.reset(k, np.random.default_rng(k))
    places = [flock.own["ball"].copy()]
    for _ in range(3 * ball.horizon):
        ball.move(flock)
        places.append(flock.own["ball"].copy())
    places = np.array(places)
    out = places - [0, 0, 0.15]
    np.testing.assert_allclose(np.linalg.norm(out, axis=2), 0.10, rtol=1e-12)
    assert out[..., 2].min() >= 0.05 - 1e-12  # 60° from the pole
    moved = np.linalg.norm(np.diff(places, axis=0), axis=2)
    on = moved > 0  # it stands for one step where it turns back
    assert on.mean() > 0.95
    np.testing.assert_allclose(moved[on], 0.2 * np.sin(0.5 * 0.15 / 15), rtol=1e-9)
    U = ball.drive(flock, np.ones((5, 4)))
    np.testing.assert_array_equal(U, 0.5)
    flock.u[:] = 24.8
    np.testing.assert_array_equal(ball.drive(flock, np.ones((5, 4))), 25.0)


def test_parameters_are_drawn_anew():
    many = rooms.ManyEnv(task("FollowBall"), 2, randomize={"arm.young": (2e5, 3e5), "arm.length": (0.24, 0.26)})
    many.reset(seed=3)
    drawn = [many.flock.system(k).parameters["arm.young"] for k in range(2)]
    assert all(2e5 < x < 3e5 for x in drawn)
    assert drawn[0] != drawn[1]
    tip = many.flock.positions("arm.tip")
    np.testing.assert_array_equal(tip[1], many.flock.system(1).pose("arm.tip", many.flock.q[1])[:3, 3])
    many.step(np.zeros((2, 4)))
    assert np.abs(many.flock.velocities("arm.tip")).max() < 1e-3  # it began at rest
    many.reset(seed=3)
    assert [many.flock.system(k).parameters["arm.young"] for k in range(2)] == drawn
    with pytest.raises(KeyError, match=r"arm\.young"):
        rooms.ManyEnv(task("FollowBall"), 2, randomize={"arm.yuong": (1, 2)})


def test_a_robot_that_cannot_move_on_ends_its_episode(short, monkeypatch):
    many = rooms.ManyEnv(short, 2)
    many.reset(seed=0)

    def refuse(*_args, **_more):
        raise StepError("no")

    monkeypatch.setattr(many.flock._steppers[1], "step", refuse)
    _seen, _reward, ended, _cut, info = many.step(np.zeros((2, 3)))
    assert ended.tolist() == info["failed"].tolist() == [False, True]


def test_gaits_move_on():
    """A wave of bending carries eel and worm along: farther than their own length in the first case."""
    for name, frequency, lag, least in (("Swim", 1.5, -1.2, 1.0), ("Crawl", 3.0, -1.6, 0.1)):
        env = rooms.Env(task(name))
        env.reset(seed=0)
        total = 0.0
        for k in range(env.task.horizon):
            wave = np.sin(2 * np.pi * frequency * env.task.step * k + np.array([0.0, lag]))
            _seen, reward, ended, _cut, _info = env.step(wave)
            assert not ended
            total += reward
        along = env.task.along
        way = env.task.forward * (env.flock.q[0, along] - np.asarray(env.task.rest)[along])
        assert way > least
        assert total > 0


def test_what_is_refused(short):
    with pytest.raises(ValueError, match="render_mode"):
        rooms.Env(short, render_mode="ansi")
    with pytest.raises(ValueError, match="autoreset"):
        rooms.ManyEnv(short, 2, autoreset="never")
    with pytest.raises(ValueError, match="2 environments"):
        rooms.ManyEnv(short, 2).reset(seed=[1])
    with pytest.raises(gymnasium.error.ResetNeeded):
        rooms.ManyEnv(short, 2).step(np.zeros((2, 3)))
    assert rooms.Env(short).render() is None


def test_stable_baselines(short):
    pytest.importorskip("stable_baselines3")
    from pliant.gym.stable import StableEnv

    with pytest.raises(ValueError, match="same"):
        StableEnv(rooms.ManyEnv(short, 2))
    env = StableEnv(rooms.ManyEnv(short, 2, autoreset="same"))
    env.seed(7)
    plain = rooms.ManyEnv(short, 2, autoreset="same")
    np.testing.assert_array_equal(env.reset(), plain.reset(seed=7)[0])
    total = np.zeros(2)
    for a in actions(short, 3, 2):
        seen, reward, over, infos = env.step(a)
        other, expected, _ended, _cut, info = plain.step(a)
        np.testing.assert_array_equal(seen, other)
        np.testing.assert_allclose(reward, expected, rtol=1e-6)
        total += expected
    assert over.all()
    assert infos[0]["TimeLimit.truncated"]
    np.testing.assert_array_equal(infos[1]["terminal_observation"], info["final_obs"][1])
    assert infos[1]["episode"]["r"] == pytest.approx(total[1])


def test_it_says_what_it_needs():
    assert issubclass(rooms.Reach, rooms.Task)
    with pytest.raises(NotImplementedError):
        rooms.Task()
    assert isinstance(task("Reach").rest, pl.Equilibrium)
