package rotation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
)

// Authority is the action `ca_rotate`: it advances the rotation of authorities by one step,
// in the run's keyring only. The module `ca_files` writes the authorities to hosts, and the
// first authority of a host's file signs its certificates. A step that an earlier run has
// taken changes nothing, so an interrupted rotation continues.
//
//   - add: hosts trust a new authority in addition to the present one. The step fails when
//     an API server, a member of etcd or a node in use is not in the run.
//   - sign: the new authority signs. All processes must trust it before this step.
//   - drop: hosts no longer trust the former authority. No process may use a certificate of
//     it at this step.
//
// The action must be in a run_once task with a barrier. Authority takes the steps sign and drop
// only when each host that registered `begun` has registered `done`. Output: stages, the
// stage of each authority; unused, the paths of files with new authorities that masters no
// longer need.
type Authority struct {
	Step        string        `yaml:"step" rule:"in:add,sign,drop" doc:"add, sign or drop." required:"true"`
	Authorities []string      `yaml:"authorities" rule:"in:cluster,etcd,front-proxy,etcd-calico" doc:"Authorities to rotate: cluster, etcd, front-proxy, etcd-calico; etcd-calico is left out where the cluster does not have it." required:"true"`
	Found       string        `yaml:"found" rule:"variable" doc:"Name under which the masters registered the result of ca_read, for the step add."`
	Begun       string        `yaml:"begun" rule:"variable" doc:"Name that every host of the run has registered." required:"true"`
	Done        string        `yaml:"done" rule:"variable" doc:"Name that a host registers when it has completed the previous phase, for the steps sign and drop."`
	MinAge      time.Duration `yaml:"min_age" range:"0s.." doc:"Age from which the step add replaces an authority that a rotation has made; default 24h. A younger authority belongs to a rotation that was interrupted after its last step, and is kept."`
}

// NewAuthority returns the action with its defaults.
func NewAuthority() *Authority { return &Authority{MinAge: 24 * time.Hour} }

// ReadOnly returns true: the action changes no host.
func (*Authority) ReadOnly() bool { return true }

// Check takes the step in the keyring.
func (a *Authority) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	ring, err := keyring.Of(actx)
	if err != nil {
		return engine.Change{}, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return engine.Change{}, err
	}
	if err := a.requireHosts(ctx, actx, c); err != nil {
		return engine.Change{}, err
	}
	now := time.Now()
	change := engine.NoChange(engine.Output{})
	stages := map[string]any{}
	for _, name := range a.Authorities {
		if name == keyring.EtcdCalico && !keys.Has(name) {
			continue
		}
		next, effect, err := a.next(keys, name, now, c.Certificates.Authority)
		if err != nil {
			return engine.Change{}, err
		}
		if next != nil {
			keys = next
			change.Needed = true
		}
		if effect.Target != "" {
			change.Effects = append(change.Effects, effect)
		}
		authority, err := keys.Authority(name)
		if err != nil {
			return engine.Change{}, err
		}
		stages[name] = string(authority.Stage())
	}
	change.Output["stages"], change.Output["unused"] = stages, keys.UnusedPaths()
	return change, ring.Fill(keys)
}

// Apply reports the effects; Check has taken the step.
func (*Authority) Apply(_ context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	for _, e := range change.Effects {
		actx.Progress(e.Target + ": " + e.Action)
	}
	return nil, nil
}

// next returns the keys of one authority after the step, and the effect to report. The keys
// are nil when the step changes nothing.
func (a *Authority) next(keys *keyring.Keys, name string, now time.Time, lifetime time.Duration) (*keyring.Keys, engine.Effect, error) {
	authority, err := keys.Authority(name)
	if err != nil {
		return nil, engine.Effect{}, err
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: cluster.CAPath(name), Secret: true}
	var next *keyring.Keys
	switch stage := authority.Stage(); {
	case a.Step == stepAdd && stage == keyring.Steady && a.young(authority, now):
		return nil, engine.Effect{Kind: engine.EffectShow, Target: effect.Target,
			Diff: fmt.Sprintf("the %s authority is from a recent rotation, so it is kept; use --again to replace it", name)}, nil
	case a.Step == stepAdd && stage == keyring.Steady:
		next, err = keys.Add(name, now, lifetime)
		effect.Action = "trust a new authority beside the present one, in memory"
	case a.Step == stepSign && stage == keyring.Trusted:
		next, err = keys.Promote(name, now)
		effect.Action = "sign with the new authority, in memory"
	case a.Step == stepDrop && stage == keyring.Signing:
		next, err = keys.Drop(name, now)
		effect.Action = "drop the former authority, in memory"
	case a.Step == stepDrop && stage == keyring.Trusted:
		err = fmt.Errorf("the step drop comes after the step sign: the new %s authority does not sign yet", name)
	case a.Step == stepAdd || a.Step == stepSign || a.Step == stepDrop:
		return nil, engine.Effect{}, nil
	default:
		err = fmt.Errorf("unknown step %q: write add, sign or drop", a.Step)
	}
	return next, effect, err
}

// young reports whether a rotation has made an authority less than MinAge ago.
func (a *Authority) young(authority *keyring.Authority, now time.Time) bool {
	return authority.MadeByRotation() && now.Sub(authority.Cert.NotBefore.Add(keyring.Backdate)) < a.MinAge
}

// requireHosts returns an error when the step would break the connection of a host in use
// to the cluster.
func (a *Authority) requireHosts(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster) error {
	var behind, absent []string
	for _, host := range c.Order {
		n := c.Nodes[host]
		switch {
		case !n.IsNode && !n.IsEtcd && !n.ProxyTLS.Used():
		case actionctx.Registered(actx, host, a.Begun) == nil:
			absent = append(absent, host)
		case a.Step != stepAdd && actionctx.Registered(actx, host, a.Done) == nil:
			behind = append(behind, host)
		}
	}
	if len(behind) > 0 {
		return fmt.Errorf("%s did not complete the phase before the step %q, which would break their connection to the cluster: repair them, or turn them off, and run the same command again",
			strings.Join(behind, ", "), a.Step)
	}
	if a.Step != stepAdd {
		return nil
	}
	for _, host := range absent {
		switch n := c.Nodes[host]; {
		case n.IsEtcd:
			return fmt.Errorf("%s cannot be reached: a rotation needs every master and every member of etcd", host)
		case n.ProxyTLS.Used() && !n.IsNode:
			return fmt.Errorf("%s cannot be reached: a rotation needs every host that ends TLS for clients (proxy.tls), because it would accept no API server afterwards; repair it, or take its role away", host)
		}
	}
	if err := requireAllServers(ctx, actx, c, a.Found); err != nil || len(absent) == 0 {
		return err
	}
	return requireDown(ctx, actx, absent)
}

// requireDown returns an error when one of the hosts is a node whose kubelet runs. The hosts
// are those of the cluster that are not in the run.
func requireDown(ctx context.Context, actx engine.ActionContext, hosts []string) error {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return err
	}
	nodes, err := kube.ListAs[corev1.Node](ctx, client, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	var inUse []string
	for _, n := range nodes {
		ready := slices.ContainsFunc(n.Status.Conditions, func(cond corev1.NodeCondition) bool {
			return cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
		})
		if ready && slices.Contains(hosts, n.Name) {
			inUse = append(inUse, n.Name)
		}
	}
	if len(inUse) > 0 {
		return fmt.Errorf("the nodes %s are Ready and cannot be reached over SSH: the rotation would break their connection to the cluster; repair their SSH access, or turn them off", strings.Join(inUse, ", "))
	}
	return nil
}
