package addons

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/internal/tempdir"
	"deployer/tasks/control/kube"
)

// Target is what charts learn about the cluster.
type Target struct {
	Kubernetes  string   // version, such as v1.36.3
	APIVersions []string // of the kinds that add-ons before it define: group/version and group/version/kind
}

// renderTimeout is the maximum time for the templates of one chart, which take about a second in
// the largest ones.
const renderTimeout = time.Minute

// readChart returns the objects and hooks of a chart, as helm template renders them: for an
// installation, without a cluster to look anything up in.
func readChart(r *reader, spec cluster.AddonSpec, target Target) ([]*unstructured.Unstructured, []Hook, error) {
	c, err := loadChart(r, spec)
	if errors.Is(err, ErrUnfetched) {
		if _, err := readValues(r, spec); err != nil { // its mistakes are reported at once
			return nil, nil, err
		}
		return nil, nil, err
	}
	if err == nil {
		err = usable(c, target)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", spec.Chart, err)
	}
	values, err := readValues(r, spec)
	if err != nil {
		return nil, nil, err
	}
	texts, err := renderInTime(c, values, spec, target)
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", spec.Chart, err)
	}
	objects, hooks, err := parseRendered(texts)
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", spec.Chart, err)
	}
	definitions, err := definitionsOf(c)
	if err != nil {
		return nil, nil, fmt.Errorf("chart %s: %w", spec.Chart, err)
	}
	return append(definitions, objects...), hooks, nil
}

// loadChart loads a directory or an archive.
func loadChart(r *reader, spec cluster.AddonSpec) (*chart.Chart, error) {
	if spec.RemoteChart() {
		content, digest, err := r.files.ReadChart(spec)
		fmt.Fprintf(r.sum, "%q %q %q %s\n", spec.Chart, spec.Repository, spec.Version, digest)
		if err != nil {
			return nil, err
		}
		return loader.LoadArchive(bytes.NewReader(content))
	}
	path := spec.Chart
	paths, err := r.walk(path)
	if errors.Is(err, ErrNoDirectory) {
		content, err := r.read(path)
		if err != nil {
			return nil, err
		}
		return loader.LoadArchive(bytes.NewReader(content))
	}
	if err != nil {
		return nil, err
	}
	// The library applies .helmignore to directories of the machine only.
	dir, err := tempdir.New("", "deployer-chart-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Remove() }()
	top := filepath.Join(dir.Path, "chart")
	for _, file := range paths {
		content, err := r.read(file)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(path, file)
		if err != nil {
			return nil, err
		}
		target := filepath.Join(top, rel)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, 0o600)); err != nil {
			return nil, err
		}
	}
	c, err := loader.LoadDir(top)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), top, path))
	}
	return c, nil
}

// usable refuses charts that cannot be installed.
func usable(c *chart.Chart, target Target) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if kind := c.Metadata.Type; kind == "library" {
		return errors.New("it is a library, which other charts use and which cannot be installed")
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, target.Kubernetes) {
		return fmt.Errorf("it needs Kubernetes %s, and the cluster has %s", want, target.Kubernetes)
	}
	for _, dependency := range c.Metadata.Dependencies {
		found := func(sub *chart.Chart) bool { return sub.Name() == dependency.Name }
		if !slices.ContainsFunc(c.Dependencies(), found) {
			return fmt.Errorf("its dependency %s is not in its directory charts: run helm dependency build, and commit what it downloads", dependency.Name)
		}
	}
	withoutRemoteSchemas(c)
	return nil
}

// withoutRemoteSchemas removes schemas for values that refer to others by URL, which the library would download.
func withoutRemoteSchemas(c *chart.Chart) {
	if bytes.Contains(c.Schema, []byte(`"$ref"`)) && refersToURL(c.Schema) {
		c.Schema = nil
	}
	for _, sub := range c.Dependencies() {
		withoutRemoteSchemas(sub)
	}
}

// renderInTime renders a chart within renderTimeout.
func renderInTime(c *chart.Chart, values map[string]any, spec cluster.AddonSpec, target Target) (map[string]string, error) {
	type result struct {
		texts map[string]string
		err   error
	}
	done := make(chan result, 1)
	go func() { // it cannot be ended: the caller fails, and with it the process
		texts, err := render(c, values, spec, target)
		done <- result{texts, err}
	}()
	select {
	case r := <-done:
		return r.texts, r.err
	case <-time.After(renderTimeout):
		return nil, fmt.Errorf("its templates take more than %s", renderTimeout)
	}
}

// render renders the templates twice. Templates whose results differ generate passwords,
// certificates or times, and would differ in every run.
func render(c *chart.Chart, values map[string]any, spec cluster.AddonSpec, target Target) (map[string]string, error) {
	// The library logs values that have the wrong type, maybe secret ones.
	writer := log.Writer()
	log.SetOutput(io.Discard)
	defer log.SetOutput(writer)

	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	version, err := common.ParseKubeVersion(target.Kubernetes)
	if err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	capabilities.APIVersions = slices.Concat(capabilities.APIVersions, target.APIVersions, spec.APIVersions)
	release := common.ReleaseOptions{Name: spec.Name, Namespace: spec.Namespace, Revision: 1, IsInstall: true}
	var first map[string]string
	for _, now := range []time.Time{time.Now(), time.Now().AddDate(1, 1, 1)} {
		all, err := util.ToRenderValues(c, values, release, capabilities)
		if err != nil {
			return nil, err
		}
		texts, err := engine.Engine{CustomTemplateFuncs: template.FuncMap{"now": func() time.Time { return now }}}.Render(c, all)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = texts
			continue
		}
		if changing := differing(first, texts); len(changing) > 0 {
			return nil, fmt.Errorf("%s: each rendering gives another result, because the templates generate passwords, certificates or times: set the values that the chart takes for them", strings.Join(changing, ", "))
		}
	}
	return first, nil
}

func differing(a, b map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] && !isNotes(name) {
			out = append(out, name)
		}
	}
	return out
}

// isNotes reports whether a template is the text that helm prints after an installation.
func isNotes(name string) bool { return strings.HasSuffix(name, "NOTES.txt") }

// parseRendered returns the objects and hooks of rendered templates, in the order of their names.
func parseRendered(texts map[string]string) (objects []*unstructured.Unstructured, hooks []Hook, err error) {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if isNotes(name) || strings.HasPrefix(filepath.Base(name), "_") {
			continue
		}
		if size += len(texts[name]); size > maxBytes {
			return nil, nil, errTooLarge
		}
		found, err := kube.Parse([]byte(texts[name]))
		if err != nil {
			return nil, nil, fmt.Errorf("%s, rendered: %w", name, err)
		}
		for _, o := range found {
			hook, isHook, err := hookOf(o)
			switch {
			case err != nil:
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			case !isHook:
				objects = append(objects, o)
			case len(hook.Events) > 0:
				hooks = append(hooks, hook)
			}
		}
	}
	return objects, hooks, nil
}

// definitionsOf returns the objects in the directories crds of a chart.
func definitionsOf(c *chart.Chart) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, crd := range c.CRDObjects() {
		found, err := kube.Parse(crd.File.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", crd.Filename, err)
		}
		out = append(out, found...)
	}
	return out, nil
}
