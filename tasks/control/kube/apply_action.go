package kube

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
)

// ApplyManifests is the action `kube_apply`: it applies manifests server-side, and
// removes objects that a set of manifests no longer contains.
type ApplyManifests struct {
	Manifests Source        `yaml:"manifests" doc:"Source of the manifests; exclusive with content."`
	Content   string        `yaml:"content" doc:"Manifests as text: YAML documents; exclusive with manifests."`
	Set       string        `yaml:"set" doc:"Name of the set of objects: they get the labels app.kubernetes.io/managed-by: deployer and deployer/set with this name, and objects with both labels that the manifests no longer contain are removed. Kinds that are removed: ServiceAccount, ConfigMap, Secret, Service, Deployment, DaemonSet, PodDisruptionBudget, NetworkPolicy, Role, RoleBinding, ClusterRole, ClusterRoleBinding. Default: no set, and nothing is removed."`
	Force     bool          `yaml:"force" doc:"Take over fields that another program manages; default true."`
	Wait      bool          `yaml:"wait" doc:"Wait until the Deployments and DaemonSets are rolled out; default false."`
	Available float64       `yaml:"available" doc:"With wait: share of the wanted pods that must be available; default 1."`
	Timeout   time.Duration `yaml:"timeout" doc:"Maximum wait for the rollout; default 5m."`
}

// Source is the source of manifests.
type Source struct {
	Template string `yaml:"template" template:"true" doc:"Template file of the role, rendered with the host's variables."`
}

// NewApplyManifests returns the action with its defaults.
func NewApplyManifests() *ApplyManifests {
	return &ApplyManifests{Force: true, Available: 1, Timeout: 5 * time.Minute}
}

// renderer is an ActionContext that renders template files of the role.
type renderer interface {
	Render(name string) ([]byte, error)
}

// Check computes the changes by a dry run on the server. With Wait, and without
// changes, Check waits for the rollout: an earlier run may have been killed between
// apply and rollout.
func (a *ApplyManifests) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	objects, err := a.objects(actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	dry := actx.CheckOnly()
	planner := client
	if dry {
		planner = client.WithRetryTimeout(-1)
	}
	plan, err := Plan(ctx, planner, objects, a.Force)
	if dry && err != nil && IsTransient(err) {
		return changeWithoutAPI(objects), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	// The API has responded. A list may still wait for the watch cache of an API server whose
	// etcd has just started.
	if a.Set != "" {
		more, err := Unlisted(ctx, client, a.Set, objects)
		if err != nil {
			return engine.Change{}, err
		}
		plan = append(plan, more...)
	}
	change := engine.Change{CheckState: plan, Output: engine.Output{"objects": len(objects)}}
	for _, p := range plan {
		if p.Needed {
			change.Needed = true
			change.Effects = append(change.Effects, p.Effect)
		}
	}
	if !change.Needed && a.Wait && !dry {
		return change, a.wait(ctx, client, objects, actx)
	}
	return change, nil
}

// Apply executes the plan of Check and, with Wait, waits for the rollout.
func (a *ApplyManifests) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.([]Planned)
	if !ok {
		return nil, errors.New("kube_apply: Apply needs the change that Check returned")
	}
	if err := Execute(ctx, client, plan, a.Force, actx.Progress); err != nil {
		return nil, err
	}
	if !a.Wait {
		return nil, nil
	}
	var objects []*unstructured.Unstructured
	for _, p := range plan {
		if !p.Delete {
			objects = append(objects, p.Object)
		}
	}
	return nil, a.wait(ctx, client, objects, actx)
}

func (a *ApplyManifests) wait(ctx context.Context, c *Client, objects []*unstructured.Unstructured, actx engine.ActionContext) error {
	var workloads []Workload
	for _, o := range objects {
		if gvk := o.GroupVersionKind(); gvk == DeploymentKind() || gvk == DaemonSetKind() {
			workloads = append(workloads, Workload{gvk, o.GetNamespace(), o.GetName()})
		}
	}
	return WaitRollouts(ctx, c, workloads, a.Available, a.Timeout, actx.Progress)
}

func (a *ApplyManifests) objects(actx engine.ActionContext) ([]*unstructured.Unstructured, error) {
	text := []byte(a.Content)
	switch {
	case (a.Manifests.Template == "") == (a.Content == ""):
		return nil, errors.New("write either manifests with a template, or content")
	case a.Manifests.Template != "":
		r, ok := actx.(renderer)
		if !ok {
			return nil, errors.New("templates cannot be rendered here; write content")
		}
		rendered, err := r.Render(a.Manifests.Template)
		if err != nil {
			return nil, err
		}
		text = rendered
	}
	objects, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, errors.New("the manifests contain no object")
	}
	if a.Set != "" {
		Label(objects, a.Set)
	}
	return objects, nil
}

// changeWithoutAPI is the change of a dry run in which no API responds: every object
// counts as changed.
func changeWithoutAPI(objects []*unstructured.Unstructured) engine.Change {
	var effects []engine.Effect
	for _, o := range objects {
		effects = append(effects, objectEffect(describe(o), "apply; the API does not answer now", "", o))
	}
	return engine.Changed(effects...)
}
