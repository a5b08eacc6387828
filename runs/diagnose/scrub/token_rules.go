package scrub

import "regexp"

// tokenRules remove tokens that are recognized by their own form.
var tokenRules = []lineRule{
	// JSON Web Tokens, such as those of service accounts.
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){0,2}`), Mark},
	// Bootstrap tokens of Kubernetes: six characters, a dot, sixteen characters.
	{[]string{"."}, regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), Mark},
	{[]string{"age-secret-key-"}, regexp.MustCompile(`(?i)AGE-SECRET-KEY-[A-Z0-9-]+`), Mark},
	// GitHub, GitLab, Slack, npm, Docker Hub, PyPI, DigitalOcean, Hugging Face, Stripe.
	{[]string{"gh", "github_pat_", "gl", "xox", "xapp-", "npm_", "dckr_", "pypi-", "dop_v1_", "hf_", "sk_", "rk_", "sk-"}, regexp.MustCompile(
		`\b(gh[pousr]_|github_pat_|gl(?:pat|rt|ptt|dt|cbt|ft|soat|agent)-|xox[abeprs]-|xapp-|npm_|dckr_(?:pat|oat)_|pypi-|dop_v1_|hf_|[sr]k_(?:live|test)_|sk-)[A-Za-z0-9_-]{10,}`), Mark},
	// Vault: service, batch and recovery tokens, and those of old versions.
	{[]string{"hv", "s."}, regexp.MustCompile(`\b(hv[sbr]|s)\.[A-Za-z0-9_-]{20,}`), Mark},
	// Identifiers of AWS keys, keys of Google's APIs.
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`), Mark},
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`), Mark},
	// Password hashes of crypt(3): $6$salt$hash.
	{[]string{"$"}, regexp.MustCompile(`\$[0-9a-z]{1,8}\$[^\s:$"']+\$[^\s:"']{8,}`), Mark},
}
