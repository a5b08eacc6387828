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

// sanitizeFacts sanitizes all texts of facts, which are shown in rows.
func sanitizeFacts(f *engine.Facts) {
	for _, s := range []*string{&f.Hostname, &f.OS, &f.OSVersion, &f.OSFamily, &f.Arch, &f.Kernel, &f.DefaultIface,
		&f.DefaultIP, &f.MachineID, &f.BootID, &f.Init, &f.OSName, &f.OSCodename, &f.PackageManager, &f.Virtualization, &f.SELinux} {
		*s = sanitize.Line(*s)
	}
	for _, list := range [][]string{f.OSLike, f.Addresses} {
		for i := range list {
			list[i] = sanitize.Line(list[i])
		}
	}
}
