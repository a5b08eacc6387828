package engine

import (
	"fmt"
	"strings"
)

// ListNames returns names as a text reads them: all of up to five, else the first five and
// the number of the others.
func ListNames(names []string) string {
	if len(names) <= 5 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
}
