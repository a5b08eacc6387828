package hostcheck

import (
	"path/filepath"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/staticpod"
)

// manifest requires that no other file of the directory defines the pod of the manifest at Path:
// the kubelet might run that file when the manifest changes. Files of other pods are accepted.
func (r Requirement) manifest(sys engine.System) checkresult.Row {
	dir, own := filepath.Split(r.Path)
	if others := staticpod.CopiesOf(own, staticpod.ManifestFiles(sys, dir)); len(others) > 0 {
		return staticpod.CopyProblem(dir, own, others[0])
	}
	return checkresult.OK("no other file defines its pod")
}
