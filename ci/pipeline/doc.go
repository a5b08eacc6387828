// Package pipeline runs CI for a configuration repository: [Pipeline.Assess] compares two
// revisions of each cluster and applies the gates, without the network; [Pipeline.Run]
// runs the stages of deployer.ci.yaml, one run at a time; [Pipeline.Rollback] and
// [Pipeline.Drift] go back to verified revisions and compare clusters with them.
//
// Work on hosts is done by this program's own verbs, as subprocesses: a run of CI
// executes the commands that a person would type, and its runs are shown, resumed and
// reverted like any other. The state of each cluster is in the repository (package
// ci/repository), so a killed run is continued by the next one, on any machine that
// has the repository.
//
// The package starts one goroutine for each stage, which ends with the stage, and one for
// each subprocess.
package pipeline
