package facts

import "slices"

// Families of distributions that name and package things alike.
const (
	FamilyDebian = "debian"
	FamilyRedHat = "redhat"
	FamilySUSE   = "suse"
)

// members lists the IDs of os-release(5) of each family. A distribution that is not
// listed belongs to the family of an ID in its ID_LIKE.
var members = map[string][]string{
	FamilyDebian: {"debian", "ubuntu"},
	FamilyRedHat: {"rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn"},
	FamilySUSE:   {"suse", "opensuse", "opensuse-leap", "opensuse-tumbleweed", "sles"},
}

// Family returns the family of a distribution by ID and ID_LIKE of its
// os-release; empty when it belongs to none.
func Family(id string, like []string) string {
	for _, name := range append([]string{id}, like...) {
		for family, ids := range members {
			if slices.Contains(ids, name) {
				return family
			}
		}
	}
	return ""
}
