package schedule

import (
	"slices"

	"deployer/engine"
	"deployer/engine/redact"
)

// Redacted replaces a secret.
const Redacted = redact.Mark

// Redactor removes secrets from the texts of a run. A nil Redactor changes nothing. It is
// safe for concurrent use.
type Redactor struct{ set *redact.Set }

// NewRedactor returns a redactor of secrets.
func NewRedactor(secrets []string) *Redactor { return &Redactor{redact.NewSet(secrets...)} }

// Learn adds the texts of a secret step's output to the secrets. Learn returns false when the
// output exceeds the maximum size.
func (r *Redactor) Learn(output engine.Output) (all bool) {
	return r.set.AddOutput(map[string]any(output))
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	return r.set.Text(s)
}

// idle reports whether there is no secret.
func (r *Redactor) idle() bool { return r == nil || r.set.Empty() }

// Wrap returns a sink that redacts events and passes them on, for events that do not come
// from the scheduler.
func (r *Redactor) Wrap(next engine.Sink) engine.Sink { return redactingSink{r, next} }

type redactingSink struct {
	r    *Redactor
	next engine.Sink
}

// Emit passes a redacted event on.
func (s redactingSink) Emit(e engine.Event) { s.next.Emit(s.r.Event(e)) }

// Event returns e without secrets. Event copies the values that e points to.
func (r *Redactor) Event(e engine.Event) engine.Event {
	if e.Result != nil && !r.harmless(e.Result) {
		res := r.Result(*e.Result)
		e.Result = &res
	}
	if r.idle() {
		return e
	}
	e.Text, e.Name = r.Text(e.Text), r.Text(e.Name)
	if e.Report != nil {
		rep := r.Report(*e.Report)
		e.Report = &rep
	}
	return e
}

// Report returns a report without secrets.
func (r *Redactor) Report(rep engine.Report) engine.Report {
	rep.Aborted = r.Text(rep.Aborted)
	rep.Hosts, rep.LeftOpen = slices.Clone(rep.Hosts), slices.Clone(rep.LeftOpen)
	for i := range rep.Hosts {
		h := &rep.Hosts[i]
		h.Failure, h.FailedStep = r.Failure(h.Failure), r.Text(h.FailedStep)
	}
	rep.Stays = slices.Clone(rep.Stays)
	for i := range rep.Stays {
		rep.Stays[i].Step = r.Text(rep.Stays[i].Step)
	}
	for i := range rep.LeftOpen {
		rep.LeftOpen[i] = r.Text(rep.LeftOpen[i])
	}
	return rep
}

// Failure returns f without secrets.
func (r *Redactor) Failure(f *engine.Failure) *engine.Failure {
	if f == nil || r == nil {
		return f
	}
	return &engine.Failure{Message: r.Text(f.Message), Detail: r.Text(f.Detail), Deterministic: f.Deterministic}
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
		c.Output, c.CheckState, c.MissingDir = r.output(c.Output, res.Secret), nil, r.Text(c.MissingDir)
		for i := range c.Effects {
			e := &c.Effects[i]
			if e.Secret = e.Secret || res.Secret; e.Secret {
				e.Diff = ""
			}
			was := *e
			e.Diff, e.Action, e.Reason, e.Target = r.Text(e.Diff), r.Text(e.Action), r.Text(e.Reason), r.Text(e.Target)
			e.Redacted = e.Redacted || *e != was
		}
		res.Change = &c
	}
	res.Output = r.output(res.Output, res.Secret)
	res.Failure = r.Failure(res.Failure)
	if res.Secret && res.Failure != nil {
		res.Failure = &engine.Failure{Message: res.Failure.Message, Deterministic: res.Failure.Deterministic}
	}
	res.Name, res.Reason, res.Unknown = r.Text(res.Name), r.Text(res.Reason), r.Text(res.Unknown)
	return res
}

// harmless reports whether a result needs no redaction, which holds for nearly all results.
func (r *Redactor) harmless(res *engine.Result) bool {
	if res.Secret || !r.idle() {
		return false
	}
	return res.Change == nil || res.Change.CheckState == nil && !slices.ContainsFunc(res.Change.Effects, func(e engine.Effect) bool { return e.Secret })
}

func (r *Redactor) output(o engine.Output, secret bool) engine.Output {
	if secret || len(o) == 0 {
		return nil
	}
	if r.idle() {
		return o
	}
	return engine.Output(r.value(map[string]any(o)).(map[string]any))
}

// value returns a copy of a JSON-like value without secrets, in names too.
func (r *Redactor) value(v any) any {
	switch t := v.(type) {
	case string:
		return r.Text(t)
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			out[r.Text(k)] = r.value(e)
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
