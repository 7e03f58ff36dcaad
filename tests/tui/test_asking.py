"""Questions beside the application: one of a key at a time, the latest of those that wait."""

import threading

import pytest

from appliance.errors import OperatorError
from tui.asking import Asker, in_thread


class Desk:
    """An asker of which the background work is done when a test says so."""

    def __init__(self):
        self.now = 100.0
        self.background = []
        self.deliveries = []
        self.asker = Asker(self.deliveries.append, lambda: self.now, self.background.append)

    def work(self):
        """Do what is in the background, and deliver what came of it."""
        works, self.background[:] = list(self.background), []
        for one in works:
            one()
        calls, self.deliveries[:] = list(self.deliveries), []
        for call in calls:
            call()


@pytest.fixture
def desk():
    return Desk()


def test_an_answer_has_its_value_and_when_it_was_asked(desk):
    answers = []
    desk.asker.ask("runs", lambda: 7, answers.append)
    assert desk.asker.waiting_since("runs") == 100.0
    desk.now = 130.0
    desk.work()
    (answer,) = answers
    assert (answer.value, answer.problem, answer.asked_at) == (7, "", 100.0)
    assert desk.asker.waiting_since("runs") is None


def test_of_questions_that_wait_only_the_latest_is_asked(desk):
    answers = []
    for value in (1, 2, 3):
        desk.asker.ask("runs", lambda value=value: value, answers.append)
    desk.work()
    assert [answer.value for answer in answers] == [1]
    desk.now = 105.0
    assert desk.asker.waiting_since("runs") == 100.0
    desk.work()
    assert [answer.value for answer in answers] == [1, 3]
    assert desk.background == []


def test_keys_do_not_wait_for_each_other(desk):
    answers = []
    desk.asker.ask("one", lambda: 1, answers.append)
    desk.asker.ask("two", lambda: 2, answers.append)
    assert len(desk.background) == 2


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperatorError("the history is locked", "wait"), "the history is locked; wait"),
        (OperatorError("no hint", ""), "no hint"),
        (ValueError("odd"), "ValueError: odd"),
    ],
)
def test_an_error_becomes_a_problem_in_words(desk, error, words):
    def fail():
        raise error

    answers = []
    desk.asker.ask("runs", fail, answers.append)
    desk.work()
    assert (answers[0].value, answers[0].problem) == (None, words)


def test_asking_again_in_done_works(desk):
    answers = []

    def done(answer):
        answers.append(answer.value)
        if len(answers) < 3:
            desk.asker.ask("runs", lambda: len(answers), done)

    desk.asker.ask("runs", lambda: 0, done)
    for _ in range(4):
        desk.work()
    assert answers == [0, 1, 2]


def test_a_question_that_hangs_is_no_reason_to_stay():
    begun = threading.Event()

    def hang():
        begun.set()
        threading.Event().wait()

    in_thread(hang)
    assert begun.wait(5)
    assert next(one for one in threading.enumerate() if one.name == "asked").daemon
