package schedule

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"deployer/engine"
)

// Redacted stands where a secret was.
const Redacted = "[secret]"

// shortestSecret is the length in bytes below which a secret is not looked
// for: taking every "on" or "1" out of messages would hide more than it
// protects.
const shortestSecret = 4

// Redactor takes secrets out of all texts that leave a run. A nil Redactor
// changes nothing. It is safe for concurrent use.
type Redactor struct {
	replacer atomic.Pointer[strings.Replacer]
}

// NewRedactor makes a redactor for secrets: as they are, each longer line of
// them (diffs and logs show lines), in JSON, and in Base64.
func NewRedactor(secrets []string) *Redactor {
	forms := map[string]bool{}
	add := func(s string) {
		if len(s) >= shortestSecret {
			forms[s] = true
		}
	}
	for _, s := range secrets {
		add(s)
		add(strings.TrimSpace(s))
		if quoted, err := json.Marshal(s); err == nil {
			add(string(quoted[1 : len(quoted)-1]))
		}
		if len(s) >= shortestSecret {
			add(base64.StdEncoding.EncodeToString([]byte(s)))
		}
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= 8 {
				add(line)
			}
		}
	}
	// The longest form first, so that no part of it is left behind.
	var all []string
	for f := range forms {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	r := &Redactor{}
	if len(all) > 0 {
		pairs := make([]string, 0, 2*len(all))
		for _, f := range all {
			pairs = append(pairs, f, Redacted)
		}
		r.replacer.Store(strings.NewReplacer(pairs...))
	}
	return r
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	if r == nil || s == "" {
		return s
	}
	if rep := r.replacer.Load(); rep != nil {
		return rep.Replace(s)
	}
	return s
}

// Wrap returns a sink that passes events on without secrets, for events that
// do not come from the scheduler.
func (r *Redactor) Wrap(next engine.Sink) engine.Sink { return redactingSink{r, next} }

type redactingSink struct {
	r    *Redactor
	next engine.Sink
}

// Emit passes an event on without secrets.
func (s redactingSink) Emit(e engine.Event) { s.next.Emit(s.r.Event(e)) }

// Event returns e without secrets. What e points to is copied, not changed.
func (r *Redactor) Event(e engine.Event) engine.Event {
	if e.Result != nil && !r.harmless(e.Result) {
		res := r.Result(*e.Result)
		e.Result = &res
	}
	if r == nil || r.replacer.Load() == nil {
		return e
	}
	e.Text, e.Name = r.Text(e.Text), r.Text(e.Name)
	if e.Report != nil {
		rep := *e.Report
		rep.Aborted = r.Text(rep.Aborted)
		rep.Hosts = slices.Clone(rep.Hosts)
		for i := range rep.Hosts {
			rep.Hosts[i].Failure = r.Failure(rep.Hosts[i].Failure)
		}
		e.Report = &rep
	}
	return e
}

// Failure returns f without secrets.
func (r *Redactor) Failure(f *engine.Failure) *engine.Failure {
	if f == nil || r == nil {
		return f
	}
	return &engine.Failure{Message: r.Text(f.Message), Detail: r.Text(f.Detail), Certain: f.Certain}
}

// Result returns a result without secrets. A result marked secret keeps neither
// output nor diffs.
func (r *Redactor) Result(res engine.Result) engine.Result {
	if r.harmless(&res) {
		return res
	}
	if res.Change != nil {
		c := *res.Change
		c.Effects = slices.Clone(c.Effects)
		c.Output, c.Memo, c.Lacks = r.output(c.Output, res.Secret), nil, r.Text(c.Lacks)
		for i := range c.Effects {
			e := &c.Effects[i]
			if e.Secret = e.Secret || res.Secret; e.Secret {
				e.Diff = ""
			}
			was := *e
			e.Diff, e.Action, e.Target = r.Text(e.Diff), r.Text(e.Action), r.Text(e.Target)
			e.Redacted = e.Redacted || *e != was
		}
		res.Change = &c
	}
	res.Output = r.output(res.Output, res.Secret)
	res.Failure = r.Failure(res.Failure)
	if res.Secret && res.Failure != nil {
		res.Failure = &engine.Failure{Message: res.Failure.Message, Certain: res.Failure.Certain}
	}
	res.Name, res.Reason, res.Unknown = r.Text(res.Name), r.Text(res.Reason), r.Text(res.Unknown)
	return res
}

// harmless tells that there is nothing to take out, which is the case of nearly
// all results.
func (r *Redactor) harmless(res *engine.Result) bool {
	if res.Secret || r != nil && r.replacer.Load() != nil {
		return false
	}
	return res.Change == nil || res.Change.Memo == nil && !slices.ContainsFunc(res.Change.Effects, func(e engine.Effect) bool { return e.Secret })
}

func (r *Redactor) output(o engine.Output, secret bool) engine.Output {
	if secret || len(o) == 0 {
		return nil
	}
	if r == nil || r.replacer.Load() == nil {
		return o
	}
	return engine.Output(r.value(map[string]any(o)).(map[string]any))
}

// value returns a copy of a JSON-like value without secrets.
func (r *Redactor) value(v any) any {
	switch t := v.(type) {
	case string:
		return r.Text(t)
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			out[k] = r.value(e)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = r.value(e)
		}
		return out
	}
	return v
}
