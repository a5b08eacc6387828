package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// RestoreRevision is the action `etcd_restore_revision`: it decides by how much a restore
// raises the revision of a snapshot, and changes nothing. All members get the same number: the
// one that an interrupted attempt of this restore has recorded on any of them, or else one
// for the revisions that the hosts' data has.
//
// Output: bump, as text.
type RestoreRevision struct {
	Snapshot int64  `yaml:"snapshot" range:"0.." required:"true" doc:"revision of the snapshot"`
	Found    string `yaml:"found" rule:"variable" required:"true" doc:"Name under which the etcd hosts registered the revision of their data (etcd_revision)."`
	Recorded string `yaml:"recorded" rule:"variable" required:"true" doc:"Name under which the etcd hosts registered the file with the recorded number (a read of that file)."`
	Replaced string `yaml:"replaced" rule:"variable" required:"true" doc:"Name under which the etcd hosts registered whether this restore has replaced their data (a stat)."`
}

// ReadOnly is true: a decision changes nothing.
func (*RestoreRevision) ReadOnly() bool { return true }

// Check decides. Check fails when a host of the run has registered nothing.
func (r *RestoreRevision) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	var names []string
	for _, h := range Hosts(c.Etcd) {
		names = append(names, h.Name)
	}
	for _, name := range []string{r.Found, r.Recorded, r.Replaced} {
		if silent := actionctx.Missing(actx, names, name); len(silent) > 0 {
			return engine.Change{}, fmt.Errorf("deciding about the revision of the restored data: %s did not report %q", strings.Join(silent, ", "), name)
		}
	}
	recorded, from := int64(0), ""
	var served []int64
	for _, name := range names {
		n, err := recordedNumber(actionctx.Registered(actx, name, r.Recorded))
		switch {
		case err != nil:
			return engine.Change{}, fmt.Errorf("reading the record of the restore on %s: %w", name, err)
		case n == 0:
		case recorded == 0:
			recorded, from = n, name
		case n != recorded:
			return engine.Change{}, fmt.Errorf("%s and %s have recorded different numbers (%d and %d) by which this restore raises the revision: begin another restore", from, name, recorded, n)
		}
		if texts := texts(actionctx.Registered(actx, name, r.Found)["unreadable"]); len(texts) > 0 {
			actx.Progress(fmt.Sprintf("the revision of data on %s is unknown: %s", name, strings.Join(texts, "; ")))
		}
		if replaced, _ := actionctx.Registered(actx, name, r.Replaced)["exists"].(bool); !replaced {
			served = append(served, wholeNumber(actionctx.Registered(actx, name, r.Found)["revision"]))
		}
	}
	var bump int64
	if recorded > 0 {
		bump, err = cluster.EtcdResumedBump(r.Snapshot, recorded, served)
	} else {
		bump, err = cluster.EtcdRevisionBump(r.Snapshot, served)
	}
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"bump": strconv.FormatInt(bump, 10)}), nil
}

// Apply is never called.
func (*RestoreRevision) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// recordedNumber returns the number in the one file that a host has read; 0 when the file
// does not exist.
func recordedNumber(read engine.Output) (int64, error) {
	files, _ := read["files"].(map[string]any)
	for _, content := range files {
		return strconv.ParseInt(strings.TrimSpace(fmt.Sprint(content)), 10, 64)
	}
	return 0, nil
}

// texts returns a list of an output, which is a []any when a host has sent it.
func texts(v any) []string {
	switch list := v.(type) {
	case []string:
		return list
	case []any:
		out := make([]string, len(list))
		for i, t := range list {
			out[i] = fmt.Sprint(t)
		}
		return out
	}
	return nil
}
