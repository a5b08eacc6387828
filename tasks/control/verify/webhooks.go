package verify

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// webhookKinds are the kinds of registrations of admission webhooks.
var webhookKinds = []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}

// webhook is an admission webhook of a Service whose failure refuses the request.
type webhook struct {
	kind, configuration, name string
	namespace, service        string
	rules                     []admissionv1.RuleWithOperations
}

func webhooks(ctx context.Context, c *kube.Client, b *backends) []report.Row {
	var rows []report.Row
	total := 0
	for _, kind := range webhookKinds {
		items, err := c.List(ctx, schema.GroupVersionKind{Group: admissionv1.GroupName, Version: "v1", Kind: kind}, "", v1.ListOptions{})
		if err != nil {
			return []report.Row{report.Bad(checkWebhooks, "", "%v", err)}
		}
		for i := range items {
			for _, w := range strictWebhooks(&items[i]) {
				total++
				why, err := b.missing(ctx, w.namespace, w.service)
				if err != nil {
					return append(rows, report.Bad(checkWebhooks, "", "%v", err))
				}
				if why != "" {
					rows = append(rows, report.Bad("webhook "+w.name, "", "%s: the API server refuses %s", why, w.scope()).
						Advised(fmt.Sprintf("start its backend, or remove the registration: kubectl delete %s %s", strings.ToLower(kind), w.configuration)))
				}
			}
		}
	}
	if len(rows) == 0 {
		rows = append(rows, report.OK(checkWebhooks, "", "%d with a backend", total))
	}
	return rows
}

// strictWebhooks returns the webhooks of a configuration whose failure refuses the request, and
// that a Service of the cluster serves.
func strictWebhooks(o *unstructured.Unstructured) []webhook {
	var config admissionv1.ValidatingWebhookConfiguration // the other kind has these fields, too
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &config); err != nil {
		return nil
	}
	var out []webhook
	for _, w := range config.Webhooks {
		if s := w.ClientConfig.Service; s != nil && (w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail) {
			out = append(out, webhook{o.GetKind(), o.GetName(), w.Name, s.Namespace, s.Name, w.Rules})
		}
	}
	return out
}

// scope returns which requests a webhook sees, such as "CREATE of pods".
func (w webhook) scope() string {
	var out []string
	for _, r := range w.rules {
		var verbs []string
		for _, o := range r.Operations {
			verbs = append(verbs, string(o))
		}
		out = append(out, strings.Join(verbs, ", ")+" of "+strings.Join(r.Resources, ", "))
	}
	return strings.Join(out, "; ")
}
