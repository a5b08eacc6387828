package addons

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hook is an object of a chart that is applied at certain events only, often a Job
// (https://helm.sh/docs/topics/charts_hooks).
type Hook struct {
	Object *unstructured.Unstructured `json:"object"`
	Events []string                   `json:"events"` // sorted
	Weight int                        `json:"weight"`
	Delete []string                   `json:"delete"` // policies for the deletion of the object
}

// The events of hooks that deployer knows. Tests run on request only, and there are no rollbacks.
const (
	PreInstall  = "pre-install"
	PostInstall = "post-install"
	PreUpgrade  = "pre-upgrade"
	PostUpgrade = "post-upgrade"
	PreDelete   = "pre-delete"
	PostDelete  = "post-delete"
)

// The policies for the deletion of a hook's object.
const (
	BeforeHookCreation = "before-hook-creation"
	HookSucceeded      = "hook-succeeded"
	HookFailed         = "hook-failed"
)

// The annotations of hooks.
const (
	annotationHook   = "helm.sh/hook"
	annotationWeight = "helm.sh/hook-weight"
	annotationDelete = "helm.sh/hook-delete-policy"
)

// hookOf returns the hook that an object is; false for other objects. A hook of other events than
// deployer's, such as test, has no events.
func hookOf(o *unstructured.Unstructured) (Hook, bool, error) {
	annotations := o.GetAnnotations()
	events, ok := annotations[annotationHook]
	if !ok {
		return Hook{}, false, nil
	}
	h := Hook{Object: o, Delete: words(annotations[annotationDelete])}
	for _, event := range words(events) {
		if slices.Contains([]string{PreInstall, PostInstall, PreUpgrade, PostUpgrade, PreDelete, PostDelete}, event) {
			h.Events = append(h.Events, event)
		}
	}
	slices.Sort(h.Events)
	if weight := strings.TrimSpace(annotations[annotationWeight]); weight != "" {
		n, err := strconv.Atoi(weight)
		if err != nil {
			return h, true, fmt.Errorf("%s %s: the annotation %s is %q, not a number", o.GetKind(), o.GetName(), annotationWeight, weight)
		}
		h.Weight = n
	}
	return h, true, nil
}

// words returns the words of a list with commas, in lower case.
func words(list string) []string {
	var out []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.ToLower(strings.TrimSpace(word)); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// HooksOf returns the hooks of an event in the order in which they run: by weight, then by kind
// and name.
func HooksOf(hooks []Hook, event string) []Hook {
	out := slices.Clone(hooks)
	out = slices.DeleteFunc(out, func(h Hook) bool { return !slices.Contains(h.Events, event) })
	slices.SortStableFunc(out, func(a, b Hook) int {
		switch {
		case a.Weight != b.Weight:
			return a.Weight - b.Weight
		case rank(a.Object) != rank(b.Object):
			return rank(a.Object) - rank(b.Object)
		}
		return strings.Compare(a.Object.GetName(), b.Object.GetName())
	})
	return out
}
