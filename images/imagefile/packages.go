package imagefile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// packageLine is a name of a Debian package (Debian Policy 5.6.1), and architectures for
// which it is meant, as in the control files of Debian (Debian Policy 7.1).
var packageLine = regexp.MustCompile(`^([a-z0-9][a-z0-9+.-]+)(?: \[([a-z0-9]+(?: [a-z0-9]+)*)\])?$`)

// PackagesFor returns the names of the packages of the image for an architecture.
func (f File) PackagesFor(arch string) []string {
	var out []string
	for _, p := range f.Packages {
		m := packageLine.FindStringSubmatch(p)
		if m != nil && (m[2] == "" || slices.Contains(strings.Fields(m[2]), arch)) {
			out = append(out, m[1])
		}
	}
	return out
}

func checkPackage(p string) error {
	if !packageLine.MatchString(p) {
		return fmt.Errorf("packages: %q: write the name of a Debian package, or a name and architectures, for example ltrace [amd64]", p)
	}
	return nil
}
