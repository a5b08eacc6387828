package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine"
)

// Drift is one difference between the present state and the state that a plan was
// made for.
type Drift struct {
	Subject    string `json:"what"` // "n3", "inventory.yaml"
	Difference string `json:"how"`
}

// FileDrift returns the files whose digests differ from the plan's; a missing file
// has an empty digest. all says that now is complete, so that files missing in it
// count too.
func FileDrift(p *Plan, now map[string]string, all bool) []Drift {
	var out []Drift
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		switch digest, ok := now[path]; {
		case !ok && !all:
		case !ok:
			out = append(out, Drift{path, "is no longer used"})
		case digest == "":
			out = append(out, Drift{path, "is missing"})
		case digest != p.Files[path]:
			out = append(out, Drift{path, "has changed"})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := p.Files[path]; !ok {
			out = append(out, Drift{path, "was not used for the plan"})
		}
	}
	return out
}

// HostDrift returns the differences between a plan and one made now, of the same
// hosts.
func HostDrift(was, now *Plan) []Drift {
	found := map[string]Host{}
	for _, h := range now.Hosts {
		found[h.Name] = h
	}
	var out []Drift
	for _, h := range was.Hosts {
		other, ok := found[h.Name]
		if !ok {
			why := now.LeftOut[h.Name]
			if why == "" {
				why = "is not in this run"
			}
			out = append(out, Drift{h.Name, why})
			continue
		}
		for _, how := range differences(was.steps(h), now.steps(other)) {
			out = append(out, Drift{h.Name, how})
		}
		delete(found, h.Name)
	}
	for _, h := range now.Hosts {
		if _, extra := found[h.Name]; extra {
			out = append(out, Drift{h.Name, "was not in the plan"})
		}
	}
	return out
}

// Beyond returns what a plan made now has beyond an earlier plan that was partly
// applied: the remaining changes must stay within it.
func Beyond(was, now *Plan) []Drift {
	var out []Drift
	allowed := NewEnforcer(was)
	planned := map[string]bool{}
	for _, h := range was.Hosts {
		planned[h.Name] = true
		if why, left := now.LeftOut[h.Name]; left {
			out = append(out, Drift{h.Name, why})
		}
	}
	for _, h := range now.Hosts {
		if !planned[h.Name] {
			out = append(out, Drift{h.Name, "was not in the plan"})
			continue
		}
		for _, at := range h.Changes {
			c := now.Changes[at]
			expect := allowed.Expected(h.Name, c.Step)
			if c.Unknown == "" && expect.Allows(engine.Change{Needed: true, Effects: c.Effects}) != nil {
				out = append(out, Drift{h.Name, fmt.Sprintf("%q would now: %s; the plan does not have that", c.Name, c.describe())})
			}
		}
	}
	return out
}

// steps returns the changes of a host by step.
func (p *Plan) steps(h Host) map[string]Change {
	out := map[string]Change{}
	for _, at := range h.Changes {
		out[p.Changes[at].Step] = p.Changes[at]
	}
	return out
}

// differences describes the steps that would do something other than planned.
func differences(was, now map[string]Change) []string {
	var out []string
	for _, step := range slices.Sorted(maps.Keys(was)) {
		a, b := was[step], now[step]
		switch {
		case b.Step == "":
			out = append(out, fmt.Sprintf("%q has nothing to change now; planned: %s", a.Name, a.describe()))
		case a.Unknown != b.Unknown || !slices.Equal(a.Fingerprints, b.Fingerprints):
			out = append(out, fmt.Sprintf("%q would now: %s; planned: %s", a.Name, b.describe(), a.describe()))
		}
	}
	for _, step := range slices.Sorted(maps.Keys(now)) {
		if _, planned := was[step]; !planned {
			out = append(out, fmt.Sprintf("%q would now: %s; nothing was planned", now[step].Name, now[step].describe()))
		}
	}
	return out
}

// describe returns the change as a short text.
func (c Change) describe() string {
	if c.Unknown != "" {
		return "unknown (" + c.Unknown + ")"
	}
	var parts []string
	for _, e := range c.Effects {
		switch text := e.Phrase() + " " + e.Target; {
		case e.Kind == "":
			parts = append(parts, "change something")
		case e.Diff != "":
			parts = append(parts, fmt.Sprintf("%s (diff %s)", text, e.Fingerprint()[:8]))
		default:
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
