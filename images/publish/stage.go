package publish

import (
	"fmt"
	"slices"
	"strings"
)

// Stage is a stage of an image on its way to production.
type Stage string

// The stages, in order.
const (
	Testing    Stage = "testing"
	Staging    Stage = "staging"
	Production Stage = "production"
)

func stages() []Stage { return []Stage{Testing, Staging, Production} }

// Stages lists the names of the stages that images are promoted to.
func Stages() []string { return []string{string(Staging), string(Production)} }

// Tag returns the tag of a version in the stage.
func (s Stage) Tag(version string) string {
	if s == Production {
		return version
	}
	return version + "-" + string(s)
}

// before returns the stage before s.
func (s Stage) before() (Stage, error) {
	i := slices.Index(stages(), s)
	if i < 1 {
		return "", fmt.Errorf("stage %q: images are promoted to %s", s, strings.Join(Stages(), " and "))
	}
	return stages()[i-1], nil
}
