package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NamedResources returns the resources that an EncryptionConfiguration names, in their
// preferred versions: names such as "secrets" and "widgets.example.org", and the wildcards
// "*.", "*.apps" and "*.*". NamedResources leaves out resources that cannot be listed and patched.
func (c *Client) NamedResources(ctx context.Context, names []string) ([]schema.GroupVersionResource, error) {
	versions, err := c.groupVersions(ctx, names)
	if err != nil {
		return nil, err
	}
	var out []schema.GroupVersionResource
	for _, gv := range versions {
		var list v1.APIResourceList
		if err := c.retry(ctx, func(ctx context.Context) error { return c.resources(ctx, gv, &list) }); err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if isSubresource(r.Name) || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") {
				continue
			}
			if slices.ContainsFunc(names, func(name string) bool { return namesResource(name, r.Name, gv.Group) }) {
				out = append(out, gv.WithResource(r.Name))
			}
		}
	}
	return out, nil
}

// groupVersions returns the preferred versions of the API groups that names mean.
func (c *Client) groupVersions(ctx context.Context, names []string) ([]schema.GroupVersion, error) {
	var out []schema.GroupVersion
	if slices.ContainsFunc(names, func(name string) bool { return namesGroup(name, "") }) {
		out = append(out, schema.GroupVersion{Version: "v1"})
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !namesGroup(name, "") || name == allResources }) {
		return out, nil
	}
	var list v1.APIGroupList
	err := c.retry(ctx, func(ctx context.Context) error {
		status, body, err := c.Raw(ctx, "GET", "/apis", nil)
		if err == nil && status != 200 {
			err = fmt.Errorf("HTTP status %d", status)
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &list)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the groups of the API: %w", err)
	}
	for _, g := range list.Groups {
		if slices.ContainsFunc(names, func(name string) bool { return namesGroup(name, g.Name) }) {
			out = append(out, schema.GroupVersion{Group: g.Name, Version: g.PreferredVersion.Version})
		}
	}
	return out, nil
}

// allResources is the name of all resources of all groups.
const allResources = "*.*"

// namesResource reports whether a name of an EncryptionConfiguration means a resource of a
// group; "" is the core group (k8s.io/apiserver pkg/apis/apiserver, ResourceConfiguration).
func namesResource(name, resource, group string) bool {
	resources, _, _ := strings.Cut(name, ".")
	return namesGroup(name, group) && (resources == "*" || resources == resource)
}

func namesGroup(name, group string) bool {
	_, groups, _ := strings.Cut(name, ".")
	return groups == group || name == allResources
}
