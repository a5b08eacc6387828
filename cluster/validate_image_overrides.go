package cluster

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// minMutatingPolicies is the first version of Kubernetes that serves MutatingAdmissionPolicy by default
// (k8s.io/apiserver v0.36.3, pkg/features): v1.35 has v1beta1 only, which is switched off.
const minMutatingPolicies = "1.36.0-0"

// mutatingPolicies is the name of the API server's admission plugin that executes these policies, and of its feature gate.
const mutatingPolicies = "MutatingAdmissionPolicy"

// All overrides are one CEL expression, a map with a line for each. Its length is what limits their number, not the
// cost of its evaluation: that of a pod with 9000 containers and 1500 overrides is within the budget of the API server.
const (
	// maxExpression is the maximum length of a CEL expression in characters (github.com/google/cel-go v0.26.0,
	// parser/parser.go, expressionSizeCodePointLimit; Kubernetes does not change it).
	maxExpression = 100_000
	// expressionPerOverride is the length of a line of the map without image and replacement.
	expressionPerOverride = len(`  "": "",` + "\n")
	expressionBraces      = len("{\n}")
)

// The parts of imageReference, from github.com/distribution/reference v0.6.0, regexp.go.
const (
	domainLabel    = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
	imageDomain    = `(?:` + domainLabel + `(?:\.` + domainLabel + `)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`
	imageComponent = `[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*`
	imageTag       = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	imageDigest    = `sha256:[0-9a-f]{64}`
)

// imageReference matches images as pods name them; its group is the path of the repository in the registry.
var imageReference = regexp.MustCompile(`^(?:` + imageDomain + `/)?(` + imageComponent + `(?:/` + imageComponent + `)*)(?::` + imageTag + `)?(?:@` + imageDigest + `)?$`)

// maxRepositoryPath is the maximum length of that path (reference.go there, RepositoryNameTotalLengthMax).
const maxRepositoryPath = 255

// isImageReference reports whether a container runtime reads text as the name of an image.
func isImageReference(text string) bool {
	match := imageReference.FindStringSubmatch(text)
	return match != nil && len(match[1]) <= maxRepositoryPath
}

// checkImageOverrides refuses overrides that would have no effect, or another one than they seem to have.
func (c *checker) checkImageOverrides() {
	const key = "cluster.image_overrides"
	overrides := c.spec.ImageOverrides
	if len(overrides) == 0 {
		return
	}
	replacements := map[string]string{}
	length := expressionBraces
	for _, o := range overrides {
		length += len(o.Image) + len(o.Replacement) + expressionPerOverride
		for _, text := range []string{o.Image, o.Replacement} {
			if !isImageReference(text) {
				c.add("bad-image-override", key, "%q is not an image such as registry.example/a/b:1.2", text)
			}
		}
		if former, twice := replacements[o.Image]; twice {
			c.add("duplicate-image-override", key, "%s has two replacements, %s and %s: remove one", o.Image, former, o.Replacement)
		}
		replacements[o.Image] = o.Replacement
	}
	c.checkImageChains(key, replacements)
	if length > maxExpression {
		c.add("too-many-image-overrides", key, "the %d overrides are an expression of %d characters, and API servers read at most %d: remove some, or mirror their registry (cluster.containerd.mirrors)", len(overrides), length, maxExpression)
	}
	c.checkMutatingPolicies(key)
}

// checkImageChains refuses replacements that are replaced themselves. The API server evaluates a policy again after other
// plugins have changed the pod, so the image that a container gets would depend on them.
func (c *checker) checkImageChains(key string, replacements map[string]string) {
	inLoop := map[string]bool{} // the images of loops that are reported
	for _, o := range c.spec.ImageOverrides {
		next, chained := replacements[o.Replacement]
		loop := imageLoop(replacements, o.Image)
		switch {
		case inLoop[o.Image]:
		case len(loop) == 1:
			c.add("chained-image-override", key, "%s is replaced by itself: remove the override", o.Image)
		case len(loop) > 1:
			for _, image := range loop {
				inLoop[image] = true
			}
			c.add("chained-image-override", key, "%s are replaced in a circle: remove one of the overrides", strings.Join(loop, ", "))
		case chained:
			c.add("chained-image-override", key, "%s, which replaces %s, is itself replaced, by %s: images are replaced once, so name the last one for both", o.Replacement, o.Image, next)
		}
	}
}

// imageLoop returns the images from start on whose replacements lead back to it; none when they do not.
func imageLoop(replacements map[string]string, start string) []string {
	loop := []string{start}
	for range replacements {
		next, replaced := replacements[loop[len(loop)-1]]
		switch {
		case !replaced:
			return nil
		case next == start:
			return loop
		}
		loop = append(loop, next)
	}
	return nil
}

// checkMutatingPolicies refuses overrides where an API server has no policies that change objects, or does not execute them.
func (c *checker) checkMutatingPolicies(key string) {
	all := versionSet(c.spec)
	for _, h := range c.hosts {
		if !h.has(RoleMaster) {
			continue
		}
		overrides := mergeLayers(c.spec.Overrides, h.Overrides)
		version := nodeVersions(all, Node{RunsAPIServer: true}, overrides).APIServer
		if _, err := semver.NewVersion(version); err != nil {
			continue // a problem of its own
		}
		if !atLeast(version, minMutatingPolicies) {
			c.add(codeSkew, key, "the API server of %s has version %s, and API servers have %s since v1.36: remove the overrides, or upgrade all masters", h.Name, version, mutatingPolicies)
			return
		}
		args := section(section(overrides, componentAPIServer), extraArgs)
		plugin := slices.Contains(pluginNames(args[flagDisablePlugins]), mutatingPolicies)
		gate := slices.ContainsFunc(pluginNames(args["feature-gates"]), func(gate string) bool { return strings.EqualFold(gate, mutatingPolicies+"=false") })
		if plugin || gate {
			c.add("no-mutating-policies", key, "overrides.apiserver.extra_args of %s disable %s, so no image would be replaced: enable it, or remove the overrides of images", h.Name, mutatingPolicies)
			return
		}
	}
}
