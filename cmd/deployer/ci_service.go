package main

import (
	"encoding/json"
	"os"
)

// ciService has the properties of a job from the environment of a CI system.
type ciService struct {
	Old, New    string // revisions; empty when the system does not say
	Annotations bool   // the system reads workflow commands of GitHub
	Summary     string // file for the summary of the job; empty for none
}

// detectCI reads the variables that GitHub Actions (and Gitea and Forgejo, which set the
// same), GitLab CI and Jenkins set.
func detectCI(getenv func(string) string) ciService {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		s := ciService{New: getenv("GITHUB_SHA"), Annotations: true, Summary: getenv("GITHUB_STEP_SUMMARY")}
		var event struct {
			Before string `json:"before"`
		}
		if data, err := os.ReadFile(getenv("GITHUB_EVENT_PATH")); err == nil && json.Unmarshal(data, &event) == nil {
			s.Old = event.Before
		}
		return s
	case getenv("GITLAB_CI") == "true":
		s := ciService{New: getenv("CI_COMMIT_SHA"), Old: getenv("CI_COMMIT_BEFORE_SHA")}
		if base := getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"); base != "" {
			s.Old = base
		}
		return s
	case getenv("JENKINS_URL") != "":
		return ciService{New: getenv("GIT_COMMIT"), Old: getenv("GIT_PREVIOUS_SUCCESSFUL_COMMIT")}
	}
	return ciService{}
}
