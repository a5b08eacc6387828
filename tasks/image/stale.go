package image

import (
	"slices"
	"strings"

	"deployer/tasks/containerd"
)

// stale lists the names of other versions of the wanted images: other tags of their
// repositories, and the names by digest under which CRI knows the same content, unless
// another name refers to that content.
func stale(have []containerd.Image, wanted []string) []string {
	repositories, kept, gone := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, ref := range wanted {
		repositories[repository(ref)] = true
	}
	byDigest := func(ref string) bool { return strings.HasPrefix(ref, "sha256:") }
	old := func(i containerd.Image) bool {
		return repositories[repository(i.Ref)] && !slices.Contains(wanted, i.Ref)
	}
	for _, i := range have {
		switch {
		case byDigest(i.Ref):
		case old(i):
			gone[i.Digest] = true
		default:
			kept[i.Digest] = true
		}
	}
	var out []string
	for _, i := range have {
		if old(i) || byDigest(i.Ref) && gone[i.Digest] && !kept[i.Digest] {
			out = append(out, i.Ref)
		}
	}
	slices.Sort(out)
	return out
}

// repository returns a reference without tag and digest.
func repository(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		ref = ref[:i]
	}
	return ref
}
