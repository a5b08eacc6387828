package virtualip

import (
	"fmt"
	"slices"
	"strings"

	"deployer/tasks/checkresult"
)

// CheckName is the name of the check.
const CheckName = "virtual address"

// adviceLog is the advice for problems that keepalived or the witness explain.
const adviceLog = "look at journalctl -u deployer-keepalived -u deployer-virtual-ip"

// Row compares an observation with what is wanted: one host has the address, every witness sees it
// there, and it answers. The rules are pure.
func Row(want Checks, found Observation) checkresult.Row {
	return row(want, found).Named(CheckName)
}

func row(want Checks, found Observation) checkresult.Row {
	views, silent := map[string][]string{}, []string{}
	for _, v := range found.Seen {
		switch {
		case v.Err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", v.Witness, v.Err))
		case v.Holder != "":
			views[v.Holder] = append(views[v.Holder], v.Witness)
		}
	}
	if found.Holds {
		// A witness on this host sees the address here whatever the others see.
		views[want.Name] = append(views[want.Name], want.Name)
	}
	holders := keys(views)
	switch {
	case len(holders) > 1:
		var parts []string
		for _, h := range holders {
			parts = append(parts, fmt.Sprintf("%s (seen by %s)", h, strings.Join(unique(views[h]), ", ")))
		}
		return checkresult.Problem(adviceLog+" on these hosts", "several hosts have %s: %s", want.Address, strings.Join(parts, " and "))
	case len(holders) == 0:
		return noHolder(want, found, silent)
	case found.Holds && found.Refused != "":
		return checkresult.Problem(adviceLog, "the host has %s and may not have it: %s", want.Address, found.Refused)
	case found.Answers != nil:
		return checkresult.Problem(adviceLog+" on "+holders[0], "%s is on %s and does not answer: %v", want.Address, holders[0], found.Answers)
	case len(silent) > 0:
		return checkresult.Problem("these hosts must run, and let the others connect to this port", "no answer from the witnesses on %s", strings.Join(silent, ", "))
	case found.Holds:
		return checkresult.OK("the host has %s, and all %d witnesses see it here", want.Address, len(found.Seen))
	}
	return checkresult.OK("%s has %s, which answers", holders[0], want.Address)
}

// noHolder describes an address that no host has.
func noHolder(want Checks, found Observation, silent []string) checkresult.Row {
	why := "this host could have it, and keepalived does not take it"
	switch {
	case want.Decision == "":
		why = "the hosts that may have it say why"
	case found.Refused != "":
		why = "this host may not have it: " + found.Refused
	}
	if len(silent) > 0 {
		why += "; no answer from the witnesses on " + strings.Join(silent, ", ")
	}
	return checkresult.Problem(adviceLog, "no host has %s; %s", want.Address, why)
}

func keys(m map[string][]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
