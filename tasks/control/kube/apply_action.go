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
	Content   string        `yaml:"content" rule:"text" doc:"Manifests as text: YAML documents; exclusive with manifests."`
	Set       string        `yaml:"set" rule:"label" doc:"Name of the set of objects: they get the labels app.kubernetes.io/managed-by: deployer and deployer/set with this name, and objects with both labels that the manifests no longer contain are removed. Kinds that are removed: ServiceAccount, ConfigMap, Secret, Service, Deployment, DaemonSet, PodDisruptionBudget, NetworkPolicy, Role, RoleBinding, ClusterRole, ClusterRoleBinding, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding. Default: no set, and nothing is removed."`
	Empty     bool          `yaml:"allow_empty" doc:"With set: accept manifests without an object, and remove all objects of the set. Default false: such manifests are an error."`
	Force     bool          `yaml:"force" doc:"Take over fields that another program manages; default true."`
	Wait      bool          `yaml:"wait" doc:"Wait until the Deployments, DaemonSets and StatefulSets are rolled out; default false."`
	Available float64       `yaml:"available" range:"0..1" doc:"With wait: share of the wanted pods that must be available; default 1."`
	Timeout   time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait for the rollout; default 5m."`
}

// Source is the source of manifests.
type Source struct {
	Template string `yaml:"template" rule:"line" template:"true" doc:"Template file of the role, rendered with the host's variables; exclusive with artifact."`
	Artifact string `yaml:"artifact" rule:"filename" doc:"Name of a file of the catalogue, such as calico-crds."`
	Version  string `yaml:"version" rule:"version" doc:"Version of the artifact."`
}

// ArtifactReader returns the content of a file of the catalogue, which the lock file pins. The
// action gets it as a service of the run.
type ArtifactReader func(ctx context.Context, name, version string) ([]byte, error)

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
	objects, err := a.objects(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	dry := actx.CheckOnly()
	var plan []Planned
	if dry {
		plan, err = planDryRun(ctx, client.WithRetryTimeout(-1), objects, a.Force)
	} else {
		plan, err = Plan(ctx, client, objects, a.Force)
	}
	if dry && err != nil && IsTransient(err) {
		return UnknownChange(objects, NotCompared(err)), nil
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
	if err := waitEstablished(ctx, client, plan, actx.Progress); err != nil {
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
	return WaitRollouts(ctx, c, WorkloadsOf(objects), a.Available, a.Timeout, actx.Progress)
}

// Valid implements engine.Validator.
func (a *ApplyManifests) Valid() error {
	given := 0
	for _, source := range []string{a.Manifests.Template, a.Manifests.Artifact, a.Content} {
		if source != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("write one of manifests with a template, manifests with an artifact, and content")
	case (a.Manifests.Artifact == "") != (a.Manifests.Version == ""):
		return errors.New("an artifact needs a version, and a version an artifact")
	case a.Empty && a.Set == "":
		return errors.New("allow_empty needs a set")
	}
	return nil
}

func (a *ApplyManifests) objects(ctx context.Context, actx engine.ActionContext) ([]*unstructured.Unstructured, error) {
	if err := a.Valid(); err != nil {
		return nil, err
	}
	text, err := a.text(ctx, actx)
	if err != nil {
		return nil, err
	}
	objects, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 && !a.Empty {
		return nil, errors.New("the manifests contain no object")
	}
	if a.Set != "" {
		Label(objects, a.Set)
	}
	return objects, nil
}

// text returns the manifests as text.
func (a *ApplyManifests) text(ctx context.Context, actx engine.ActionContext) ([]byte, error) {
	switch {
	case a.Manifests.Template != "":
		return render(actx, a.Manifests.Template)
	case a.Manifests.Artifact != "":
		read, ok := engine.Service[ArtifactReader](actx.Services())
		if !ok {
			return nil, errors.New("artifacts need an inventory with a cluster; write content")
		}
		return read(ctx, a.Manifests.Artifact, a.Manifests.Version)
	}
	return []byte(a.Content), nil
}

// render returns a rendered template file of the role.
func render(actx engine.ActionContext, template string) ([]byte, error) {
	r, ok := actx.(renderer)
	if !ok {
		return nil, errors.New("templates cannot be rendered here; write content")
	}
	return r.Render(template)
}

// Rendered returns the objects of a template file of the role.
func Rendered(actx engine.ActionContext, template string) ([]*unstructured.Unstructured, error) {
	text, err := render(actx, template)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// UnknownChange is the change of a dry run that could not compare the objects: each of them
// counts as changed, for the given reason.
func UnknownChange(objects []*unstructured.Unstructured, reason string) engine.Change {
	var effects []engine.Effect
	for _, o := range objects {
		effect := ObjectEffect(Describe(o), "apply", "", o)
		effect.Reason = reason
		effects = append(effects, effect)
	}
	return engine.Changed(effects...)
}
