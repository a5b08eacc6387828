package remote

import (
	"deployer/engine"
	"deployer/engine/transport"
)

// clean makes text from a host safe to show.
func clean(s string) string { return transport.Clean(s) }

// Bounds of the texts of a result in bytes. They are twice those of an honest
// agent, which has cut them already.
const (
	mostDiff   = 128 << 10
	mostDetail = 128 << 10
	mostReason = 32 << 10
)

// boundResult cuts texts that no agent sends.
func boundResult(r *engine.Result) {
	r.Reason = cutText(r.Reason, mostReason)
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = cutText(r.Failure.Message, mostDetail), cutText(r.Failure.Detail, mostDetail)
	}
	if r.Change != nil {
		for i := range r.Change.Effects {
			r.Change.Effects[i].Diff = cutText(r.Change.Effects[i].Diff, mostDiff)
		}
	}
}

// cleanResult cleans all text of a result, output included.
func cleanResult(r *engine.Result) {
	r.Reason = clean(r.Reason)
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = clean(r.Failure.Message), clean(r.Failure.Detail)
	}
	if r.Change != nil {
		r.Change.Lacks = clean(r.Change.Lacks)
		for i := range r.Change.Effects {
			e := &r.Change.Effects[i]
			e.Kind, e.Target, e.Action, e.Diff = engine.EffectKind(clean(string(e.Kind))), clean(e.Target), clean(e.Action), clean(e.Diff)
		}
	}
	if r.Output != nil {
		r.Output, _ = cleanValue(map[string]any(r.Output)).(map[string]any)
	}
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[clean(k)] = cleanValue(e)
		}
		return out
	}
	return v
}

// cleanFacts cleans the text of facts.
func cleanFacts(f *engine.Facts) {
	for _, s := range []*string{&f.Hostname, &f.OS, &f.OSVersion, &f.OSFamily, &f.Arch, &f.Kernel, &f.DefaultIface,
		&f.DefaultIP, &f.MachineID, &f.BootID, &f.Init, &f.OSName, &f.OSCodename, &f.PackageManager, &f.Virtualization, &f.SELinux} {
		*s = clean(*s)
	}
	for _, list := range [][]string{f.OSLike, f.Addresses} {
		for i := range list {
			list[i] = clean(list[i])
		}
	}
}
