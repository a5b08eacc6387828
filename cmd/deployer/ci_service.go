package main

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
)

// ciService has the properties of a job from the environment of a CI system.
type ciService struct {
	Old, New    string // revisions; empty when the system does not say
	Branch      string // the branch of a push, or the target of a pull request; empty when the system does not say
	Annotations bool   // the system reads workflow commands of GitHub
	Summary     string // file for the summary of the job; empty for none
}

// detectCI reads the variables that GitHub Actions (and Gitea and Forgejo, which set the
// same), GitLab CI and Jenkins set.
func detectCI(getenv func(string) string) ciService {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		s := ciService{New: getenv("GITHUB_SHA"), Branch: getenv("GITHUB_BASE_REF"), Annotations: true, Summary: getenv("GITHUB_STEP_SUMMARY")}
		if branch, is := strings.CutPrefix(getenv("GITHUB_REF"), "refs/heads/"); is {
			s.Branch = branch
		}
		var event struct {
			Before string `json:"before"`
		}
		if data, err := os.ReadFile(getenv("GITHUB_EVENT_PATH")); err == nil && json.Unmarshal(data, &event) == nil {
			s.Old = event.Before
		}
		return s
	case getenv("GITLAB_CI") == "true":
		s := ciService{New: getenv("CI_COMMIT_SHA"), Old: getenv("CI_COMMIT_BEFORE_SHA"), Branch: cmp.Or(getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), getenv("CI_COMMIT_BRANCH"))}
		if base := getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"); base != "" {
			s.Old = base
		}
		return s
	case getenv("JENKINS_URL") != "":
		return ciService{New: getenv("GIT_COMMIT"), Old: getenv("GIT_PREVIOUS_SUCCESSFUL_COMMIT"), Branch: cmp.Or(getenv("CHANGE_TARGET"), getenv("BRANCH_NAME"))}
	}
	return ciService{}
}
