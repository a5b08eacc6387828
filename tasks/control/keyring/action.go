package keyring

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Load is the action `ca_load`: it fills the run's keyring with the cluster's keys, from
// the files of the masters or, for a new cluster, with new ones. Load writes nothing to
// hosts; the module `ca_files` writes the files.
//
// Its place is a run_once task behind `ca_read`, registered on every master. In a dry
// run it creates keys too, in memory only, so that later tasks can be checked.
type Load struct {
	Found            string `yaml:"found" rule:"variable" doc:"Name under which the masters registered the result of ca_read." required:"true"`
	Backup           string `yaml:"backup" rule:"variable" doc:"Name under which key_backup_read was registered, for a restore: its keys are those of the cluster. Default: none."`
	Etcd             string `yaml:"etcd" rule:"variable" doc:"Name under which etcd hosts registered whether they have data (a stat of the member directory). A new encryption key is created only when none of them has data."`
	Nodes            string `yaml:"nodes" rule:"variable" doc:"Name under which nodes registered whether they have a kubelet (a stat of its configuration). Authorities are created only when neither a node nor a member of etcd is there."`
	Existing         bool   `yaml:"existing" doc:"Fail instead of creating keys, for tasks that only read a cluster; default false."`
	NewEncryptionKey bool   `yaml:"new_encryption_key" doc:"Create a new encryption key even if the cluster has data and no master holds its key; default false."`
}

// ReadOnly is true: the action changes no host.
func (*Load) ReadOnly() bool { return true }

// Check reports the files to create, and fails when the existing ones cannot be merged.
func (l *Load) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	if _, err := Of(actx); err != nil {
		return engine.Change{}, err
	}
	held := Found(actx, l.Found)
	if len(held) == 0 {
		return engine.Change{}, fmt.Errorf("no master registered %q; run ca_read on every master before", l.Found)
	}
	lifetime, external, optional := authorityValidity, External(nil), []string(nil)
	if c, ok := engine.Service[*cluster.Cluster](actx.Services()); ok {
		lifetime, external, optional = cmp.Or(c.Certificates.Authority, lifetime), c.ExternalAuthorities.Certificates, c.OptionalAuthorities()
	}
	all, err := external.in(l.withoutHosts(actx, held))
	if err != nil {
		return engine.Change{}, err
	}
	merged, err := Merge(all)
	if err != nil {
		return engine.Change{}, err
	}
	asked, err := bgpAsked(actx, merged)
	if err != nil {
		return engine.Change{}, err
	}
	keys, made, err := Complete(merged, time.Now(), lifetime, external, optional...)
	if err != nil {
		return engine.Change{}, err
	}
	made = append(made, asked...)
	if l.Existing && len(made) > 0 {
		return engine.Change{}, fmt.Errorf("no master holds %s: the cluster is not installed, or its installation is incomplete; run deployer install", strings.Join(made, ", "))
	}
	if silent := unheard(actx, held); len(made) > 0 && len(silent) > 0 {
		return engine.Change{}, fmt.Errorf("no authorities are created for a cluster that may have some: %s did not report its files; "+
			"the hosts of the run must include every master", strings.Join(silent, ", "))
	}
	if err := l.refuseNewAuthority(actx, made); err != nil {
		return engine.Change{}, err
	}
	if err := l.refuseNewEncryption(actx, held, made); err != nil {
		return engine.Change{}, err
	}
	if err := fill(actx, keys); err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{Needed: len(made) > 0, Output: engine.Output{"made": made}}
	for _, path := range made {
		change.Effects = append(change.Effects, engine.Effect{
			Kind: engine.EffectFile, Target: path, Action: "make, in memory", Secret: !public(path),
		})
	}
	return change, nil
}

// withoutHosts returns the files of masters and those that no master has yet: of a backup,
// and in a dry run those of an earlier play, which has written nothing.
func (l *Load) withoutHosts(actx engine.ActionContext, held map[string]Files) map[string]Files {
	all := maps.Clone(held)
	if out := actionctx.Registered(actx, actx.Host(), l.Backup); l.Backup != "" && out != nil {
		all["the backup"] = FilesOf(out)
	}
	ring, _ := engine.Service[*Keyring](actx.Services())
	if keys, err := ring.Keys(); err == nil && actx.CheckOnly() {
		all["this run"] = keys.Files()
	}
	return all
}

// Apply reports the result; the keys are in the keyring already.
func (l *Load) Apply(_ context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	made, _ := change.Output["made"].([]string)
	actx.Progress("made " + strings.Join(made, ", "))
	return nil, nil
}

// unheard lists the masters that have not reported their files.
func unheard(actx engine.ActionContext, held map[string]Files) []string {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Masters), func(master string) bool {
		_, heard := held[master]
		return heard
	})
}

func fill(actx engine.ActionContext, keys *Keys) error {
	ring, _ := engine.Service[*Keyring](actx.Services())
	return ring.Fill(keys)
}

// Found returns the files by host that masters registered as the result of ca_read.
func Found(actx engine.ActionContext, name string) map[string]Files {
	held := map[string]Files{}
	for _, host := range actx.Targets() {
		if out := actionctx.Registered(actx, host, name); out != nil {
			held[host] = FilesOf(out)
		}
	}
	return held
}

// FilesOf parses the output of ca_read: contents by path, at the top or under "files".
func FilesOf(out engine.Output) Files {
	values := map[string]any(out)
	if nested, ok := values["files"].(map[string]any); ok {
		values = nested
	}
	files := Files{}
	for path, content := range values {
		if text, ok := content.(string); ok && strings.HasPrefix(path, "/") && strings.TrimSpace(text) != "" {
			files[path] = []byte(text)
		}
	}
	return files
}
