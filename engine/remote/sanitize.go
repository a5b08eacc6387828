package remote

import (
	"deployer/engine"
	"deployer/engine/sanitize"
)

// Limits of the texts of a result in bytes, twice those of the agent, which has cut the
// texts already.
const (
	maxDiff   = 128 << 10
	maxDetail = 128 << 10
	maxReason = 32 << 10
)

// limitResult cuts texts that exceed the limits of the agent.
func limitResult(r *engine.Result) {
	r.Reason = cutText(r.Reason, maxReason)
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = cutText(r.Failure.Message, maxDetail), cutText(r.Failure.Detail, maxDetail)
	}
	if r.Change != nil {
		for i := range r.Change.Effects {
			r.Change.Effects[i].Diff = cutText(r.Change.Effects[i].Diff, maxDiff)
		}
	}
}

// sanitizeResult sanitizes all text of a result, output included.
func sanitizeResult(r *engine.Result) {
	r.Reason = sanitize.Text(r.Reason)
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = sanitize.Text(r.Failure.Message), sanitize.Text(r.Failure.Detail)
	}
	if r.Change != nil {
		r.Change.MissingDir = sanitize.Text(r.Change.MissingDir)
		for i := range r.Change.Effects {
			e := &r.Change.Effects[i]
			e.Kind, e.Target, e.Action, e.Diff = engine.EffectKind(sanitize.Text(string(e.Kind))), sanitize.Text(e.Target), sanitize.Text(e.Action), sanitize.Text(e.Diff)
		}
	}
	if r.Output != nil {
		r.Output, _ = sanitize.Value(map[string]any(r.Output)).(map[string]any)
	}
}

// sanitizeFacts sanitizes all texts of facts.
func sanitizeFacts(f *engine.Facts) {
	for _, s := range []*string{&f.Hostname, &f.OS, &f.OSVersion, &f.OSFamily, &f.Arch, &f.Kernel, &f.DefaultIface,
		&f.DefaultIP, &f.MachineID, &f.BootID, &f.Init, &f.OSName, &f.OSCodename, &f.PackageManager, &f.Virtualization, &f.SELinux} {
		*s = sanitize.Text(*s)
	}
	for _, list := range [][]string{f.OSLike, f.Addresses} {
		for i := range list {
			list[i] = sanitize.Text(list[i])
		}
	}
}
