package alibaba

import (
	"context"
	"errors"
	"regexp"

	"github.com/alibabacloud-go/tea/tea"
	"github.com/aliyun/credentials-go/credentials"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// A keySource returns the credentials of the next call, or an error of class
// Denied without a secret in it. It is safe for concurrent use.
type keySource func(ctx context.Context) (secrets, error)

// fileKeys reads the file each time: it is small, and a mounted Secret changes
// when keys are rotated.
func fileKeys(path string) keySource {
	return func(context.Context) (secrets, error) {
		c, err := readConfig(path)
		switch {
		case err != nil:
			return secrets{}, &mirror.Error{Class: mirror.Denied, Err: err}
		case c.keys == secrets{}:
			return secrets{}, &mirror.Error{Class: mirror.Denied, Err: errors.New("--alibaba-cloud-config-file=" + path + ": the keys are gone; restart to use other credentials")}
		}
		return c.keys, nil
	}
}

// chainKeys asks Alibaba's chain, which remembers session tokens and renews them
// before they end. It has no contexts and no locks: one goroutine at a time asks
// it, and who gives up leaves that one behind until it has waited long enough
// (seconds).
func chainKeys() keySource {
	type reply struct {
		keys secrets
		err  error
	}
	turn := make(chan credentials.Credential, 1)
	turn <- nil
	ask := func(chain credentials.Credential) (credentials.Credential, secrets, error) {
		if chain == nil {
			made, err := credentials.NewCredential(nil)
			if err != nil {
				return nil, secrets{}, err
			}
			chain = made
		}
		model, err := chain.GetCredential()
		if err != nil {
			return nil, secrets{}, err // a new chain asks all of its members again
		}
		return chain, secrets{tea.StringValue(model.AccessKeyId), tea.StringValue(model.AccessKeySecret), tea.StringValue(model.SecurityToken)}, nil
	}
	return func(ctx context.Context) (secrets, error) {
		var chain credentials.Credential
		select {
		case chain = <-turn:
		case <-ctx.Done():
			return secrets{}, givenUp(ctx)
		}
		done := make(chan reply, 1)
		go func() {
			next, keys, err := ask(chain)
			turn <- next
			done <- reply{keys, err}
		}()
		select {
		case r := <-done:
			if r.err != nil || r.keys.id == "" {
				// What the chain says may quote what a metadata service answered.
				return secrets{}, &mirror.Error{Class: mirror.Denied, Err: errors.New("no credentials of Alibaba Cloud were found: neither in --alibaba-cloud-config-file, " +
					"nor in ALIBABA_CLOUD_ACCESS_KEY_ID and _SECRET, nor by RRSA (ALIBABA_CLOUD_ROLE_ARN, _OIDC_PROVIDER_ARN, _OIDC_TOKEN_FILE), nor by a RAM role of the instance" + codesIn(r.err))}
			}
			return r.keys, nil
		case <-ctx.Done():
			return secrets{}, givenUp(ctx)
		}
	}
}

var codeInText = regexp.MustCompile(`"Code"\s*:\s*"([A-Za-z.]{1,80})"`)

// codesIn are the error codes of Alibaba's services in what the chain says, which
// tell why a role wasn't given.
func codesIn(err error) string {
	if err == nil {
		return ""
	}
	text := ""
	for _, found := range codeInText.FindAllStringSubmatch(err.Error(), -1) {
		text += "; a service answered " + found[1]
	}
	return text
}
