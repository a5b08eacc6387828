package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// definition is the part of a CustomResourceDefinition that says how its objects are converted
// between versions. The schemas of its versions, its largest part, are left out.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Versions []struct {
			Name    string
			Served  bool
			Storage bool
		}
		Conversion struct {
			Strategy string
			Webhook  struct {
				ClientConfig struct {
					Service struct{ Namespace, Name string }
				}
			}
		}
	}
	Status struct{ StoredVersions []string }
}

// converted returns the versions whose objects the API server converts: those that it serves or
// has stored, without the one in which it stores objects.
func (d *definition) converted() []string {
	var out []string
	for _, v := range d.Spec.Versions {
		if !v.Storage && (v.Served || slices.Contains(d.Status.StoredVersions, v.Name)) {
			out = append(out, v.Name)
		}
	}
	return out
}

// storage returns the version in which objects are stored.
func (d *definition) storage() string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// conversions checks the webhooks that convert objects of custom resources between versions.
func conversions(ctx context.Context, c *kube.Client, b *backends) []report.Row {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	called := map[string]*definition{} // by name: a list that begins again has some twice
	err := kube.EachOf(ctx, c, resource, func(d *definition) {
		if d.Spec.Conversion.Strategy == "Webhook" && d.Spec.Conversion.Webhook.ClientConfig.Service.Name != "" && len(d.converted()) > 0 {
			called[d.Metadata.Name] = d
		}
	})
	switch {
	case ctx.Err() != nil:
		return []report.Row{report.Skip(checkConversions, "", "not compared: the API server did not list all CustomResourceDefinitions within %s", clusterTimeout)}
	case err != nil:
		return []report.Row{report.Bad(checkConversions, "", "%v", err)}
	}
	return conversionRows(ctx, b, called)
}

func conversionRows(ctx context.Context, b *backends, called map[string]*definition) []report.Row {
	var rows []report.Row
	for _, name := range slices.Sorted(maps.Keys(called)) {
		d := called[name]
		service := d.Spec.Conversion.Webhook.ClientConfig.Service
		why, err := b.missing(ctx, service.Namespace, service.Name)
		if err != nil {
			return append(rows, report.Bad(checkConversions, "", "%v", err))
		}
		if why == "" {
			continue
		}
		rows = append(rows, report.Bad("webhook of conversion "+name, "", "%s: the API server cannot convert objects of the versions %s from and to %s, and refuses each list that has one",
			why, strings.Join(d.converted(), ", "), d.storage()).Advised(fmt.Sprintf("start its backend; when it is gone for good, and the versions have the same fields: "+
			`kubectl patch crd %s --type merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'; a removed definition removes all its objects`, name)))
	}
	if len(rows) == 0 {
		rows = append(rows, report.OK(checkConversions, "", "%d with a backend", len(called)))
	}
	return rows
}
