package observe

import (
	"encoding/json"
	"regexp"

	"deployer/keeper/noderenewal"
	"deployer/keeper/world"
)

// certificateName is the form of names of certificates: the annotation of a node may have any text.
var certificateName = regexp.MustCompile(`^[a-z0-9/-]{1,60}$`)

// maxNames is the number of certificates that a node may name.
const maxNames = 20

// othersOf returns the certificates that an annotation of a Node names; nil for none, and for one that is no such
// annotation.
func othersOf(text string) *world.OtherCertificates {
	var others noderenewal.Others
	if text == "" || json.Unmarshal([]byte(text), &others) != nil || len(others.Names) == 0 || len(others.Names) > maxNames {
		return nil
	}
	for _, name := range others.Names {
		if !certificateName.MatchString(name) {
			return nil
		}
	}
	return &world.OtherCertificates{Names: others.Names, Expires: others.Expires}
}
