package cluster

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"deployer/strictyaml"
)

// AddonSpec is one of `cluster.addons`: objects of Kubernetes that deployer applies after the
// cluster's own. Paths are relative to the inventory.
type AddonSpec struct {
	Name        string                             `yaml:"name" required:"true" doc:"Name of the add-on: lower-case letters, digits and dashes; unique. Its objects get the label deployer/addon with this name."`
	Namespace   string                             `yaml:"namespace" doc:"Namespace of objects whose manifests name none; it is created when it does not exist, and never removed. Default default."`
	Manifests   []string                           `yaml:"manifests" doc:"Files with manifests, and directories, of which all files *.yaml, *.yml and *.json are read in the order of their names, without directories below. Files whose names end in .age are decrypted."`
	Kustomize   string                             `yaml:"kustomize" doc:"Directory with a kustomization, which is built as kubectl kustomize does; bases and files of the network are not read."`
	Chart       string                             `yaml:"chart" doc:"Chart of Helm: a directory or an archive *.tgz of the project, an address oci://REGISTRY/PATH, or the name of a chart of repository. Its release has the name of the add-on."`
	Repository  string                             `yaml:"repository" doc:"HTTP or HTTPS address of the repository that has the chart."`
	Version     string                             `yaml:"version" doc:"Exact version of a chart of a registry or repository. Its digest is pinned in the lock file."`
	ValuesFiles []string                           `yaml:"values_files" doc:"Files with values for the chart; later ones have precedence. Texts may have the tags !secret and !env; files whose names end in .age are decrypted, and their values are secret."`
	Values      strictyaml.Section[map[string]any] `yaml:"values" doc:"Values for the chart, merged deeply over those of values_files."`
	APIVersions []string                           `yaml:"api_versions" doc:"Further versions of the API that the chart may ask for (.Capabilities.APIVersions), as group/version or group/version/Kind. It knows those of Kubernetes and of definitions in add-ons before it."`
	Images      string                             `yaml:"images" enum:"pull,deliver" default:"pull" doc:"How nodes get the images of the add-on. pull: they pull them from their registries, as those of all pods. deliver: deployer fetches them from the source of artifacts, pins them in the lock file and imports them on every node; bundles have them, too. They need tags then, not digests."`
	Network     bool                               `yaml:"network" default:"false" doc:"Whether the add-on is the pod network. It is applied before nodes must be Ready, and needs network.plugin: none."`
	Wait        *bool                              `yaml:"wait" default:"true" doc:"Whether a run waits until the Deployments, DaemonSets and StatefulSets of the add-on have rolled out."`
	Timeout     time.Duration                      `yaml:"timeout" default:"5m" doc:"Maximum wait for the rollout, and for each hook of a chart."`
}

// Addon is the part of an add-on that playbooks read.
type Addon struct {
	Name    string `json:"name"`    // name of the add-on
	Network bool   `json:"network"` // true for the pod network
}

// The values of cluster.addons[].images.
const (
	ImagesPull    = "pull"
	ImagesDeliver = "deliver"
)

// defaultAddonTimeout is Helm's default for --timeout.
const defaultAddonTimeout = 5 * time.Minute

// addonName matches the names of add-ons: DNS labels, which are names of releases of Helm, too
// (helm.sh/helm/v4/pkg/chart/v2/util, ValidateReleaseName: at most 53 characters).
var addonName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$`)

// namespaceName matches names of namespaces.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// withAddonDefaults returns add-ons with every default.
func withAddonDefaults(addons []AddonSpec) []AddonSpec {
	out := slices.Clone(addons)
	for i := range out {
		out[i].Namespace = cmp.Or(out[i].Namespace, "default")
		out[i].Timeout = cmp.Or(out[i].Timeout, defaultAddonTimeout)
		out[i].Images = cmp.Or(out[i].Images, ImagesPull)
		out[i].Wait = orTrue(out[i].Wait)
	}
	return out
}

// addons returns the add-ons in the order of the inventory.
func (s Spec) addons() []Addon {
	out := make([]Addon, len(s.Addons))
	for i, a := range s.Addons {
		out[i] = Addon{Name: a.Name, Network: a.Network}
	}
	return out
}

// addonSubject returns the subject of a problem with a key of the add-on with an index.
func addonSubject(index int, key string) string {
	return fmt.Sprintf("cluster.addons[%d].%s", index, key)
}

// addsNetwork reports whether an add-on is the pod network.
func (s Spec) addsNetwork() bool {
	return slices.ContainsFunc(s.Addons, func(a AddonSpec) bool { return a.Network })
}

// RemoteChart reports whether the chart is that of a registry or of a repository.
func (a AddonSpec) RemoteChart() bool {
	return a.Repository != "" || strings.HasPrefix(a.Chart, "oci://")
}

// chartVersion matches an exact version of a chart: semver.org, with or without a v.
var chartVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

// checkRemoteChart refuses addresses and versions that name no chart.
func (a AddonSpec) checkRemoteChart(bad func(code, key, format string, args ...any)) {
	if !a.RemoteChart() {
		if a.Version != "" {
			bad("bad-addon", "version", "version is for a chart of a registry or repository: write repository, or oci:// before the chart")
		}
		return
	}
	u, err := url.Parse(a.Repository)
	switch {
	case a.Repository == "":
		if _, rest, _ := strings.Cut(a.Chart, "://"); strings.ContainsAny(rest, "@?# ") || strings.LastIndex(rest, ":") > strings.LastIndex(rest, "/") {
			bad("bad-addon", "chart", "%q is not oci://REGISTRY/PATH; write the version as version", a.Chart)
		}
	case strings.HasPrefix(a.Repository, "oci://"):
		bad("bad-addon", "repository", "a chart of a registry has its whole address as chart: oci://REGISTRY/PATH")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		bad("bad-addon", "repository", "it is no http or https address")
	case u.User != nil:
		bad("bad-addon", "repository", "write user and password as cluster.containerd.credentials, not into the address")
	case a.Chart == "" || strings.ContainsAny(a.Chart, "/ "):
		bad("bad-addon", "chart", "%q is not the name of a chart in a repository", a.Chart)
	}
	if !chartVersion.MatchString(a.Version) {
		bad("bad-addon", "version", "%q is not an exact version such as 4.12.1", a.Version)
	}
}

// sources returns the keys that give the add-on its content.
func (a AddonSpec) sources() (keys []string) {
	for _, source := range []struct {
		key string
		set bool
	}{{"manifests", len(a.Manifests) > 0}, {"kustomize", a.Kustomize != ""}, {"chart", a.Chart != ""}} {
		if source.set {
			keys = append(keys, source.key)
		}
	}
	return keys
}

// checkAddons refuses add-ons that cannot be applied, as far as that is known without their
// files.
func (c *checker) checkAddons() {
	names := map[string]bool{}
	for i, a := range c.spec.Addons {
		bad := func(code, key, format string, args ...any) {
			c.add(code, addonSubject(i, key), "add-on %q: "+format, append([]any{a.Name}, args...)...)
		}
		switch {
		case !addonName.MatchString(a.Name):
			bad("bad-addon", "name", "the name is not made of at most 53 lower-case letters, digits and dashes")
		case names[a.Name]:
			bad("bad-addon", "name", "two add-ons have this name: rename one")
		}
		names[a.Name] = true
		if !namespaceName.MatchString(a.Namespace) {
			bad("bad-addon", "namespace", "%q is no name of a namespace", a.Namespace)
		}
		switch sources := a.sources(); {
		case len(sources) == 0:
			bad("bad-addon", "name", "it has no content: write manifests, kustomize or chart")
		case len(sources) > 1:
			bad("bad-addon", sources[1], "%s exclude each other: write two add-ons", strings.Join(sources, " and "))
		}
		if a.Chart == "" && (len(a.ValuesFiles) > 0 || len(a.APIVersions) > 0 || a.Values.Node != nil) {
			bad("bad-addon", "name", "values_files, values and api_versions are for a chart")
		}
		a.checkRemoteChart(bad)
		if a.Timeout < 0 {
			bad("bad-addon", "timeout", "timeout %s: want a duration such as 5m", a.Timeout)
		}
		if a.Network && c.spec.Network.Plugin != PluginNone {
			bad("two-networks", "network", "network: true needs network.plugin: none, because deployer's own pod network is there otherwise")
		}
	}
}
