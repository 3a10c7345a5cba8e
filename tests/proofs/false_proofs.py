"""Proofs of false statements, as text for the second checker.

Each statement is false for some run: the comment above it says for which. All are
about one algorithm whose gradients are at most B along the run, unless they have
another head.
"""

from __future__ import annotations

HEAD = """\
claim own:statement
assume bounded | the gradients along the run are at most B
assume unbiased | fresh samples
assume variance | the noise of a sample is at most sigma_l
assume push-sum weights | w_i >= delta
algorithm gossips = 1
algorithm local = x - eta*sum(g, k, "1")
algorithm sent = x - eta*sum(g, K, "1")
algorithm mean_model = mean(x)
"""
GRADIENT = """\
left root(g)
term t1 = B
f1 = bounded() |- root(g) <= B*one("gradient")
prove f1
"""
LARGEST = """\
f1 = bounded() |- root(g) <= B*one("gradient")
f2 = largest(f1) |- max_k(root(g)) <= B*one("gradient")
"""
SUM = """\
left root(sum(g, K, "1"))
f1 = bounded() |- root(g) <= B*one("gradient")
f2 = largest(f1) |- max_k(root(g)) <= B*one("gradient")
f3 = steps_max(g, K, "1") |- root(sum(g, K, "1")) <= K*max_k(root(g))
f4 = combine((f3, 1), (f2, K)) |- root(sum(g, K, "1")) <= K*B*one("gradient")
"""
# the sum of g with weights M, whose total of K steps is written as p
TOTAL = f"""\
left root(sum(g, K, "M"))
{LARGEST}\
f3 = steps_max(g, K, M) |- root(sum(g, K, M)) <= p*max_k(root(g))
f4 = combine((f3, 1), (f2, p)) |- root(sum(g, K, M)) <= p*B*one("gradient")
prove f4
"""
STEP = """\
left root(eta*g)
f1 = bounded() |- root(g) <= B*one("gradient")
f2 = minkowski((eta, g)) |- root(eta*g) <= eta*root(g)
f3 = combine((f2, 1), (f1, eta)) |- root(eta*g) <= eta*B*one("gradient")
prove f3
"""

# x + g/w is divided by w in one part only. False for x_i = -2 g_i and w_i = 1/2
PUSHED_IN_PART = f"""{HEAD}\
v1 = x + pushed(g)
v2 = pushed(x) + pushed(g)
left root(v2) - 1/delta*root(v1)
term t1 = 0
f1 = unweigh(v1) |- root(v2) <= 1/delta*root(v1)
f2 = combine((f1, 1)) |- root(v2) - 1/delta*root(v1) <= 0
prove f2
"""
# alpha^k depends on k. False for k = 0 and K > 1
STEP_IN_A_POWER = f"""{HEAD}\
weights M | alpha**(lag - 1) | (1 - alpha**count)/(1 - alpha) \
| (1 - alpha**(2*count))/(1 - alpha**2) | - | - | -
{LARGEST}\
f3 = steps_max(g, k, M) |- root(sum(g, k, M)) <= (1 - alpha**k)/(1 - alpha)*max_k(root(g))
f4 = largest(f3) |- max_k(root(sum(g, k, M))) <= (1 - alpha**k)/(1 - alpha)*max_k(root(g))
left max_k(root(sum(g, k, M))) - (1 - alpha**k)/(1 - alpha)*max_k(root(g))
term t1 = 0
f5 = combine((f4, 1)) |- max_k(root(sum(g, k, M))) \
- (1 - alpha**k)/(1 - alpha)*max_k(root(g)) <= 0
prove f5
"""
# (k + 1)^(1/2) depends on k. False for models that are not 0: 2 (k + 1)^(1/2) <= k + 2
# is averaged on the right alone
STEP_IN_A_ROOT = f"""{HEAD}\
condition C1 | K <= 4
condition C2 | 4 <= K
hint 1 times C1
hint 1 times C2
v1 = (k + 1)**(1/2)*x
v2 = x - (k + 1)**(1/2)*x
left mean_t(sq(x))
f1 = polarization(x, v1) |- inner(x, v1) == (sq(x) + sq(v1) - sq(v2))/2
f2 = bilinear(x, ((k + 1)**(1/2), x)) |- inner(x, v1) == (k + 1)**(1/2)*inner(x, x)
f3 = polarization(x, x) |- inner(x, x) == (sq(x) + sq(x) - sq(x - x))/2
f4 = minkowski() |- root(x - x) <= 0
f5 = square(f4) |- sq(x - x) <= 0
f6 = minkowski(((k + 1)**(1/2), x)) |- root(v1) <= (k + 1)**(1/2)*root(x)
f7 = square(f6) |- sq(v1) <= (k + 1)*sq(x)
f8 = combine((f1, 1), (f2, -1), (f3, -(k + 1)**(1/2)), (f5, (k + 1)**(1/2)/2), (f7, 1/2)) \
|- (k + 1)**(1/2)*sq(x) <= (k/2 + 1)*sq(x)
f9 = average(f8, "k") |- (k + 1)**(1/2)*sq(x) <= ((K - 1)/4 + 1)*sq(x)
f10 = combine((f9, (k + 1)**(1/2) + (K + 3)/4)) |- (k + 1)*sq(x) <= (K + 3)**2/16*sq(x)
f11 = combine((f10, k)) |- (k**2 + k)*sq(x) <= k*(K + 3)**2/16*sq(x)
f12 = average(f11, "k") |- ((K - 1)*(2*K - 1)/6 + (K - 1)/2)*sq(x) \
<= (K - 1)/2*(K + 3)**2/16*sq(x)
f13 = combine((f12, 96/((K - 1)*(3*K + 1)))) |- sq(x) <= 0
f14 = average(f13, "t") |- mean_t(sq(x)) <= 0
prove f14
"""
# grad f_i(k x) depends on k. False for f_i(x) = L |x|^2/2 and k = K - 1 > 0
STEP_IN_A_POINT = """\
claim own:statement
assume smooth | every f_i is L-smooth
algorithm gossips = 1
algorithm local = x
v1 = grad(k*x, "") - grad(x - x, "")
f1 = lipschitz(k*x, x - x, "") |- root(v1) <= L*root(k*x)
f2 = minkowski((k, x)) |- root(k*x) <= k*root(x)
f3 = combine((f1, 1), (f2, L)) |- root(v1) <= k*L*root(x)
f4 = square(f3) |- sq(v1) <= k**2*L**2*sq(x)
f5 = average(f4, "k") |- sq(v1) <= (K - 1)*(2*K - 1)/6*L**2*sq(x)
left sq(v1) - (K - 1)*(2*K - 1)/6*L**2*sq(x)
term t1 = 0
f6 = combine((f5, 1)) |- sq(v1) - (K - 1)*(2*K - 1)/6*L**2*sq(x) <= 0
prove f6
"""
# a coordinate c = k hides that a coefficient depends on k. False for k = 0 and K > 1
COORDINATE_OF_A_STEP = f"""{HEAD}\
coordinate c = k | >= 0
value k = c
v1 = k*n
left max_k(root(v1)) - k*max_k(root(n))
term t1 = 0
f1 = minkowski((k, n)) |- root(v1) <= k*root(n)
f2 = largest(f1) |- max_k(root(v1)) <= k*max_k(root(n))
f3 = combine((f2, 1)) |- max_k(root(v1)) - k*max_k(root(n)) <= 0
prove f3
"""
# weights that depend on k. False for k = K - 1 > 0
STEP_IN_WEIGHTS = f"""{HEAD}\
weights M | k | k*count | k**2*count | - | - | -
left sq(sum(n, K, "M"))
term t1 = K*(K - 1)*(2*K - 1)/6*sigma_l**2
f1 = variance(n) |- root(n) <= sigma_l*one("noise")
f2 = square(f1) |- sq(n) <= sigma_l**2*one("noise")
f3 = martingale(f2, K, M) |- sq(sum(n, K, M)) <= k**2*K*sigma_l**2*one("noise")
f4 = average(f3, "k") |- sq(sum(n, K, M)) <= K*(K - 1)*(2*K - 1)/6*sigma_l**2*one("noise")
prove f4
"""
# c(lag) = count has no meaning; the total is that of c(lag) = lag - 1
COUNT_IN_WEIGHTS = f"""{HEAD}\
weights M | count | count*(count - 1)/2 | count*(count - 1)*(2*count - 1)/6 | p | - | -
define A = K*(K - 1)/2 | p
term t1 = A*B
{TOTAL}\
"""
# The total of K weights 1 is K. False for one step
FORMULA_FOR_A_TOTAL = f"""{HEAD}\
weights M | 1 | count | count | 0 | 0 | -
left root(sum(g, K, "M"))
term t1 = 0
f1 = steps_max(g, K, M) |- root(sum(g, K, M)) <= 0
prove f1
"""
# p is the total of K steps, and that of K - 1 steps. False for one step
ONE_SYMBOL_FOR_TWO_TOTALS = f"""{HEAD}\
weights M | 1 | count | count | p | p | -
define A = K - 1 | p
term t1 = A*B
{TOTAL}\
"""
# p is the total of weights 2, and of weights 1. False for equal gradients
ONE_SYMBOL_FOR_TWO_WEIGHTS = f"""{HEAD}\
weights M | 2 | 2*count | 4*count | p | - | -
weights N | 1 | count | count | p | - | -
define A = K | p
term t1 = A*B
{TOTAL}\
"""
# p is the total of weights 1, and eta. False for eta < 1
TOTAL_THAT_IS_A_COORDINATE = f"""{HEAD}\
coordinate p = eta | > 0
weights M | 1 | count | count | p | - | -
value eta = p
term t1 = eta*B
{TOTAL}\
"""
# Python reads the name of the total, a ligature, as fi, which is 0
TOTAL_WITH_ANOTHER_SPELLING = f"""{HEAD}\
define fi = 0
weights M | 1 | count | count | \N{LATIN SMALL LIGATURE FI} | - | -
left root(sum(g, K, "M"))
term t1 = 0
f1 = steps_max(g, K, M) |- root(sum(g, K, M)) <= 0
prove f1
"""
# c is B where a value is shown, and 0 where it is used
COORDINATE_DEFINED_AGAIN = f"""{HEAD}\
coordinate c = B | >= 0
define c = 0
value B = c
left root(g)
term t1 = 0
f1 = bounded() |- root(g) <= 0
prove f1
"""
# the same with the name of an update, which is 1
COORDINATE_NAMED_AS_AN_UPDATE = f"""{HEAD}\
coordinate gossips = B | >= 0
value B = gossips
left root(g)
term t1 = 1
f1 = bounded() |- root(g) <= one("gradient")
prove f1
"""
# c is B, and later at most 1
COORDINATE_DECLARED_TWICE = f"""{HEAD}\
coordinate c = B | >= 0
value B = c
coordinate c = rho/(1 + rho) | >= 0 | <= 1
left root(g)
term t1 = 1
f1 = bounded() |- root(g) <= c*one("gradient")
prove f1
"""
# False for B > 0: the second corollary follows from the first, which states nothing
COROLLARY_OF_NOTHING = f"""{HEAD}{GRADIENT}\
corollary own:empty
corollary own:wrong
term t1 = 0
follows
"""
# the first corollary holds for eta = 1/2 alone. The second is false for B > 0
COROLLARY_WITH_ANOTHER_SCHEDULE = f"""{HEAD}\
condition C1 | eta <= 1
term t1 = eta*B
{STEP}\
corollary own:small
schedule eta = 1/2
term t1 = B/2
follows
corollary own:wrong
schedule eta = 1000
term t1 = B/2
follows
"""
# the same without a schedule: it reads as a bound for every eta
COROLLARY_WITHOUT_ITS_SCHEDULE = COROLLARY_WITH_ANOTHER_SCHEDULE.replace(
    "schedule eta = 1000\n", ""
)
# False for K > 3: no case is about these K
CASES_IN_CASES = f"""{HEAD}{SUM}\
term t1 = K*B
prove f4
corollary own:wrong
cases K 1
cases K 3
term t1 = 3*B
follows
"""
# the condition of the theorem, eta <= 1, is read with another c in the corollary
CONDITION_OF_A_COORDINATE = f"""{HEAD}\
coordinate c = eta | > 0
condition C1 | c <= 1
value eta = c
hint B times C1
term t1 = B
{STEP}\
corollary own:wrong
coordinate c = 1/2 | > 0 | <= 1/2
schedule eta = 1000
term t1 = B
follows
"""
# the abbreviation of the theorem, A = B, is read with another c in the corollary
DEFINITION_OF_A_COORDINATE = f"""{HEAD}\
coordinate c = B | >= 0
define A = B | c
value B = c
left root(g)
term t1 = A
f1 = bounded() |- root(g) <= B*one("gradient")
prove f1
corollary own:wrong
coordinate c = 0 | >= 0 | <= 1/1000000
term t1 = 1/1000000
follows
"""
# 1/(1 + L)^(1/4) is not 1/(1 + L)^(1/2). False for L = 1 and B = 2^(-1/4)
DIVISION_BY_A_ROOT_OF_A_ROOT = f"""{HEAD}\
condition C1 | B <= 1/((1 + L)**(1/2))**(1/2)
hint 1 times C1
left root(g)
term t1 = 1/(1 + L)**(1/2)
f1 = bounded() |- root(g) <= B*one("gradient")
prove f1
"""
# K <= k + 1 + later_steps holds for one value of later_steps only
STEPS_AFTER_STEP_K = f"""{HEAD}{SUM}\
f5 = combine((f4, 1)) |- root(sum(g, K, "1")) <= (k + 1 + later_steps)*B*one("gradient")
term t1 = (k + 1 + later_steps)*B
prove f5
corollary own:wrong
schedule later_steps = 0
schedule k = 0
term t1 = B
follows
"""
# across blocks the gradients change by chi (L_u L_v)^(1/2). False for chi > 1
EQUAL_SMOOTHNESS_OF_TWO_BLOCKS = """\
claim own:statement
assume smooth | L_u, L_v and chi
condition C1 | L_u <= L_v
condition C2 | L_v <= L_u
algorithm gossips = 1
v1 = block("v", x) - eta_v*sum(block("v", g), K_v)
algorithm kept = v1
algorithm personal = block("u", x) + block("v", x) - eta_v*sum(block("v", g), k)
algorithm local = block("u", x) - eta_u*sum(block("u", g), k) + v1
hint 1 times C1
hint 1 times C2
coordinate c = L_u | > 0
value L_u = c
value L_v = c
v2 = block("u", x) + block("v", x)
v3 = block("u", x)
left root(grad(v2, "u") - grad(v3, "u")) - L_u*root(block("v", x))
term t1 = 0
f1 = lipschitz(v2, v3, "u") |- root(grad(v2, "u") - grad(v3, "u")) <= L_u*root(block("v", x))
f2 = combine((f1, 1)) |- root(grad(v2, "u") - grad(v3, "u")) - L_u*root(block("v", x)) <= 0
prove f2
"""
# a sum with weights that no line declares
SUM_WITHOUT_WEIGHTS = f"""{HEAD}\
left inner(x, sum(n, K, "M"))
term t1 = 0
f1 = unbiased(x, n, "M") |- inner(x, sum(n, K, "M")) == 0
prove f1
"""
# max_k is read as the largest of the differences; it was the difference of the largest
LARGEST_OF_A_DIFFERENCE = f"""{HEAD}{LARGEST}\
left max_k(root(g) - root(n))
term t1 = B
f3 = combine((f2, 1)) |- max_k(root(g)) - max_k(root(n)) <= B*one("gradient")
prove f3
"""
TWO_CLAIMS = f"claim own:other\n{HEAD}{GRADIENT}"

# Half of the constant B is lost. False for a gradient of norm B
LOST_CONSTANT = f"""{HEAD}\
left root(g)
term t1 = B/2
f1 = bounded() |- root(g) <= B*one("gradient")
f2 = combine((f1, 1)) |- root(g) <= B/2*one("gradient")
prove f2
"""
# A root is lost on the right-hand side. False where g is not 0
LOST_ROOT = f"""{HEAD}\
left root(eta*g)
term t1 = 0
f1 = minkowski((eta, g)) |- root(eta*g) <= eta*root(g)
f2 = combine((f1, 1)) |- root(eta*g) <= 0
prove f2
"""
# The bound is multiplied by -1, which turns its relation. False for a small gradient
NEGATIVE_MULTIPLIER = f"""{HEAD}\
left B*one("gradient") - root(g)
term t1 = 0
f1 = bounded() |- root(g) <= B*one("gradient")
f2 = combine((f1, -1)) |- B*one("gradient") - root(g) <= 0
prove f2
"""

# every text above that is a file of its own
FALSE = {
    name: text
    for name, text in sorted(globals().items())
    if name.isupper() and type(text) is str and text.startswith("claim")
}
del FALSE["HEAD"]
