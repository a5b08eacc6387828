package rotation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// The ConfigMaps in which a cluster publishes its authorities. The controller manager
// writes rootCA into each namespace, for pods. API servers write clientCA, for extension
// API servers and the controller manager; they add certificates and never remove any
// (kubernetes pkg/controlplane/controller/clusterauthenticationtrust).
const (
	rootCA   = "kube-root-ca.crt"
	clientCA = "extension-apiserver-authentication"
)

// annotation of the pods of a Deployment has the digest of the authorities that they trust.
const annotation = "deployer/authorities"

const publishedEvery = 2 * time.Second

// Published is the action `ca_published`: it waits until the cluster publishes the
// authorities of the run's keyring, removes the replaced authorities from the ConfigMaps,
// and restarts the pods of Deployments that have read other authorities.
type Published struct {
	Deployments []string      `yaml:"deployments" rule:"hostname" doc:"Deployments of kube-system whose pods read the authority only when they start. Default: none."`
	Timeout     time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 3m."`
}

// NewPublished returns the action with its defaults.
func NewPublished() *Published { return &Published{Timeout: 3 * time.Minute} }

// Check waits for the ConfigMaps and returns the patches; in a dry run it does nothing.
func (p *Published) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if actx.CheckOnly() {
		return engine.NoChange(nil), nil
	}
	root, front, client, err := p.open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	err = poll.Until(ctx, p.Timeout, publishedEvery, func(ctx context.Context) (string, bool, error) {
		namespace, err := unpublished(ctx, client, root)
		if err != nil || namespace != "" {
			return fmt.Sprintf("the ConfigMap %s/%s has other authorities", namespace, rootCA), false, err
		}
		data, err := clientData(ctx, client)
		if err == nil && (!root.in(data["client-ca-file"]) || !front.in(data["requestheader-client-ca-file"])) {
			return "the ConfigMap kube-system/" + clientCA + " lacks an authority", false, nil
		}
		return "", err == nil, err
	})
	if err != nil {
		return engine.Change{}, fmt.Errorf("waiting until the cluster publishes its authorities: %w", err)
	}
	change := engine.NoChange(nil)
	patches, err := p.patches(ctx, client, root, front)
	for _, patch := range patches {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: patch.kind.Kind + " kube-system/" + patch.name, Action: patch.action})
	}
	return change, err
}

// Apply patches the objects.
func (p *Published) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	root, front, client, err := p.open(ctx, actx)
	if err != nil {
		return nil, err
	}
	patches, err := p.patches(ctx, client, root, front)
	if err != nil {
		return nil, err
	}
	for _, patch := range patches {
		if _, err := client.Patch(ctx, patch.kind, "kube-system", patch.name, patch.body, kube.Manager); err != nil {
			return nil, fmt.Errorf("changing %s kube-system/%s: %w", patch.kind.Kind, patch.name, err)
		}
	}
	return nil, nil
}

func (p *Published) open(ctx context.Context, actx engine.ActionContext) (root, front published, client *kube.Client, err error) {
	if client, err = kube.Open(ctx, actx); err != nil {
		return published{}, published{}, nil, err
	}
	ring, _ := engine.Service[*keyring.Keyring](actx.Services()) // kube.Open fails without it
	keys, err := ring.Keys()
	if err == nil {
		root.Authority, err = keys.Authority(keyring.Cluster)
	}
	if err == nil {
		front.Authority, err = keys.Authority(keyring.FrontProxy)
	}
	return root, front, client, err
}

// objectPatch is a JSON merge patch of an object in kube-system.
type objectPatch struct {
	kind         schema.GroupVersionKind
	name, action string
	body         []byte
}

func (p *Published) patches(ctx context.Context, client *kube.Client, root, front published) ([]objectPatch, error) {
	data, err := clientData(ctx, client)
	if err != nil {
		return nil, err
	}
	var out []objectPatch
	kept := map[string]string{}
	for key, authority := range map[string]published{"client-ca-file": root, "requestheader-client-ca-file": front} {
		if text := authority.without(data[key]); text != data[key] {
			kept[key] = text
		}
	}
	if len(kept) > 0 {
		body, err := json.Marshal(map[string]any{"data": kept})
		if err != nil {
			return nil, err
		}
		out = append(out, objectPatch{configMap(), clientCA, "take replaced authorities away", body})
	}
	for _, name := range p.Deployments {
		d, err := client.Get(ctx, kube.DeploymentKind(), "kube-system", name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the Deployment kube-system/%s: %w", name, err)
		}
		if annotationOf(d.Object) == root.digest() {
			continue
		}
		meta := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: root.digest()}}}
		body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": meta}})
		if err != nil {
			return nil, err
		}
		out = append(out, objectPatch{kube.DeploymentKind(), name, "restart its pods, which read the authority when they start", body})
	}
	return out, nil
}

// annotationOf returns the annotation in the pod template of a Deployment.
func annotationOf(object map[string]any) string {
	for _, field := range []string{"spec", "template", "metadata", "annotations"} {
		object, _ = object[field].(map[string]any)
	}
	text, _ := object[annotation].(string)
	return text
}

func configMap() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}

// clientData returns the data of clientCA.
func clientData(ctx context.Context, client *kube.Client) (map[string]string, error) {
	list, err := kube.ListAs[corev1.ConfigMap](ctx, client, configMap(), "kube-system", v1.ListOptions{FieldSelector: "metadata.name=" + clientCA})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0].Data, nil
}

// unpublished returns the name of a namespace whose ConfigMap rootCA differs from the trusted
// certificates; empty when there is none.
func unpublished(ctx context.Context, client *kube.Client, root published) (string, error) {
	list, err := kube.ListAs[corev1.ConfigMap](ctx, client, configMap(), "", v1.ListOptions{FieldSelector: "metadata.name=" + rootCA})
	if err != nil {
		return "", fmt.Errorf("listing the ConfigMaps %s: %w", rootCA, err)
	}
	for _, m := range list {
		text := m.Data["ca.crt"]
		if certs, _ := keyring.ParseCertificates([]byte(text)); len(certs) != len(root.Trusted()) || !root.in(text) {
			return m.Namespace, nil
		}
	}
	return "", nil
}

// published is an authority that a cluster publishes.
type published struct{ *keyring.Authority }

// in reports whether a PEM text contains all trusted certificates.
func (p published) in(text string) bool {
	certs, err := keyring.ParseCertificates([]byte(text))
	return err == nil && !slices.ContainsFunc(p.Trusted(), func(c *x509.Certificate) bool { return !slices.ContainsFunc(certs, c.Equal) })
}

// without returns a PEM text without the certificates that this authority has replaced and
// that hosts no longer trust; other certificates stay unchanged.
func (p published) without(text string) string {
	certs, err := keyring.ParseCertificates([]byte(text))
	if err != nil {
		return text
	}
	kept := slices.DeleteFunc(slices.Clone(certs), func(c *x509.Certificate) bool { return p.Replaces(c) && !p.Trusts(c) })
	if len(kept) == len(certs) {
		return text
	}
	return string(keyring.EncodeCertificates(kept))
}

// digest identifies the set of trusted certificates.
func (p published) digest() string {
	certs := slices.Clone(p.Trusted())
	slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	sum := sha256.Sum256(keyring.EncodeCertificates(certs))
	return strings.ToLower(hex.EncodeToString(sum[:8]))
}
