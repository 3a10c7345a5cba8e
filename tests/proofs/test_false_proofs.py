"""The second checker proves no false statement."""

from __future__ import annotations

import pytest

from tests.proofs.false_proofs import FALSE, GRADIENT, HEAD, STEP, SUM, TOTAL
from validation.proof_checker.loading import ProofError, check

WRONG_LINE = {
    "COORDINATE_DECLARED_TWICE": "coordinate",
    "COORDINATE_DEFINED_AGAIN": "define",
    "COORDINATE_NAMED_AS_AN_UPDATE": "coordinate",
    "COORDINATE_OF_A_STEP": "coordinate",
    "CASES_IN_CASES": "follows",
    "COROLLARY_OF_NOTHING": "corollary",
    "COROLLARY_WITHOUT_ITS_SCHEDULE": "corollary",
    "COROLLARY_WITH_ANOTHER_SCHEDULE": "corollary",
    "CONDITION_OF_A_COORDINATE": "condition",
    "COUNT_IN_WEIGHTS": "weights",
    "DEFINITION_OF_A_COORDINATE": "follows",
    "DIVISION_BY_A_ROOT_OF_A_ROOT": "prove",
    "EQUAL_SMOOTHNESS_OF_TWO_BLOCKS": "lipschitz",
    "FORMULA_FOR_A_TOTAL": "weights",
    "LARGEST_OF_A_DIFFERENCE": "left",
    "LOST_CONSTANT": "combine",
    "LOST_ROOT": "combine",
    "NEGATIVE_MULTIPLIER": "combine",
    "ONE_SYMBOL_FOR_TWO_TOTALS": "weights",
    "ONE_SYMBOL_FOR_TWO_WEIGHTS": "weights",
    "PUSHED_IN_PART": "unweigh",
    "STEPS_AFTER_STEP_K": "combine",
    "STEP_IN_A_POINT": "average",
    "STEP_IN_A_POWER": "largest",
    "STEP_IN_A_ROOT": "average",
    "STEP_IN_WEIGHTS": "weights",
    "SUM_WITHOUT_WEIGHTS": "left",
    "TOTAL_THAT_IS_A_COORDINATE": "weights",
    "TOTAL_WITH_ANOTHER_SPELLING": "weights",
    "TWO_CLAIMS": "claim",
}


@pytest.mark.drawn(len(FALSE))
@pytest.mark.parametrize("name", FALSE)
def test_false_statement_is_not_proved(name):
    with pytest.raises(ProofError) as rejected:
        check(FALSE[name])
    assert rejected.value.rule == WRONG_LINE[name]


TRUE = {
    "gradient": HEAD + GRADIENT,
    "sum": f"{HEAD}{SUM}term t1 = K*B\nprove f4\n",
    "total": f"{HEAD}weights M | 2 | 2*count | 4*count | p | - | -\n"
    f"define A = 2*K | p\nterm t1 = A*B\n{TOTAL}",
    "corollary": f"{HEAD}condition C1 | eta <= 1\nterm t1 = eta*B\n{STEP}"
    "corollary own:small\nschedule eta = 1/2\nterm t1 = B/2\nfollows\n",
    "cases": f"{HEAD}{SUM}term t1 = K*B\nprove f4\ncorollary own:cases\ncases K 2\n"
    "condition C1 | K <= 3\nhint B times C1\nterm t1 = 3*B\nfollows\n",
    "root of a root": f"{HEAD}condition C1 | B <= 1/((1 + L)**(1/2))**(1/2)\n"
    "hint 1 times C1\nleft root(g)\nterm t1 = ((1 + L)**(1/2))**(1/2)/(1 + L)**(1/2)\n"
    'f1 = bounded() |- root(g) <= B*one("gradient")\nprove f1\n',
}


@pytest.mark.parametrize("name", TRUE)
def test_true_statement_is_proved(name):
    assert check(TRUE[name]).proved
