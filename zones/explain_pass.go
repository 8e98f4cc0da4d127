package zones

import "fmt"

// passedOn is the Outcome of a name that another resolver is asked for.
const passedOn = "passed on"

// addPass says that another resolver is asked for the name in place of the
// negative answer a. A name that a CNAME here leads to has an explanation of its
// own.
func (x *Explanation) addPass(passes *Passes, a *Answer) {
	rule, name := passes.Match(a, x.Name)
	if rule == nil || name != x.Name {
		return
	}
	what := fmt.Sprintf("nothing here claims %s", x.Name)
	if rule.Challenges {
		what = fmt.Sprintf("no record here stands at %s, a name of ACME's challenges", x.Name)
	}
	x.Outcome, x.PassedTo = passedOn, rule.String()
	x.Detail = fmt.Sprintf("%s: queries are passed on to %s and get what it answers", what, rule)
	x.Next = fmt.Sprintf("ask %s for the name itself; if an object here should have it, look for a misspelt host or a source that --source leaves out", rule)
	if len(x.Skipped) > 0 {
		x.Next = x.Skipped[0].Reason.hint(x.Skipped[0].Object)
	}
}
