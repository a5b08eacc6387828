package sanitize

import "deployer/engine"

// Result sanitizes all texts of a result, output included: those of a module come from its
// host, and those of an action may be answers of servers on hosts.
func Result(r *engine.Result) {
	r.Reason = Text(r.Reason)
	if r.Failure != nil {
		failure := *r.Failure // an error may be shared
		failure.Message, failure.Detail = Text(failure.Message), Text(failure.Detail)
		r.Failure = &failure
	}
	if r.Change != nil {
		r.Change.MissingDir = Line(r.Change.MissingDir)
		for i := range r.Change.Effects {
			e := &r.Change.Effects[i]
			e.Kind, e.Target, e.Diff = engine.EffectKind(Line(string(e.Kind))), Text(e.Target), Text(e.Diff)
			e.Action, e.Reason = Text(e.Action), Text(e.Reason)
		}
	}
	if r.Output != nil {
		r.Output, _ = Value(map[string]any(r.Output)).(map[string]any)
	}
}
