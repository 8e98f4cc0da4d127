package route53

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Codes of errors by what to do about them (API reference, "Common errors" and the
// errors of each action).
var (
	waitCodes = []string{"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException", "PriorRequestNotComplete", "SlowDown"}
	denyCodes = []string{
		"AccessDenied", "AccessDeniedException", "NotAuthorized", "UnauthorizedOperation", "OptInRequired", "ExpiredToken", "ExpiredTokenException",
		"InvalidClientTokenId", "UnrecognizedClientException", "MissingAuthenticationToken", "InvalidIdentityToken", "IDPCommunicationError",
		"SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "RequestExpired", "AuthFailure",
	}
	// signatureCodes are those whose message repeats headers of the request, the
	// session token among them.
	signatureCodes = []string{"SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature"}
)

// listingError gives an error of a call that reads its class and a text without
// credentials.
func (a *account) listingError(what string, err error) error {
	class := mirror.Failed
	switch code := codeOf(err); {
	case slices.Contains(waitCodes, code):
		class = mirror.Throttled
	case slices.Contains(denyCodes, code) || isCredentials(err):
		class = mirror.Denied
	}
	return &mirror.Error{Class: class, Err: a.sentence(what, err)}
}

// writingError is listingError for a call that writes, all of whose groups failed
// for one reason. An error that isn't Route 53's own word on the request leaves
// open whether it was applied.
func (a *account) writingError(what string, err error) error {
	class := mirror.Unknown
	switch code := codeOf(err); {
	case slices.Contains(waitCodes, code):
		class = mirror.Throttled
	case slices.Contains(denyCodes, code) || isCredentials(err):
		class = mirror.Denied
	case code != "" && statusOf(err) < http.StatusInternalServerError:
		class = mirror.Failed
	}
	return &mirror.Error{Class: class, Err: a.sentence(what, err)}
}

// codeOf returns the code that Route 53 or STS gave an error; "" where it is none
// of theirs.
func codeOf(err error) string {
	if e := smithy.APIError(nil); errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// statusOf returns the HTTP status of an error's response; 0 without one.
func statusOf(err error) int {
	if e := (*awshttp.ResponseError)(nil); errors.As(err, &e) {
		return e.HTTPStatusCode()
	}
	return 0
}

// A credentialsError says that there are no credentials to sign a request with.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

func isCredentials(err error) bool {
	e := (*credentialsError)(nil)
	return errors.As(err, &e) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// sentence says in one sentence what went wrong. The cause isn't wrapped: the SDK's
// errors hold the response, which may repeat what the request was signed with.
func (a *account) sentence(what string, err error) error {
	var text string
	e := smithy.APIError(nil)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s was given up: %w", what, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s took too long: %w", what, context.DeadlineExceeded)
	case isCredentials(err) && !errors.As(err, &e):
		text = "no credentials were found (" + a.clean(cause(err)) + "): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile, or give the service account a role"
	case errors.As(err, &e) && slices.Contains(signatureCodes, e.ErrorCode()):
		text = e.ErrorCode() + ": the signature isn't accepted; check the secret key, and this machine's clock"
	case errors.As(err, &e) && e.ErrorMessage() != "":
		text = e.ErrorCode() + ": " + a.clean(e.ErrorMessage())
	case errors.As(err, &e):
		text = e.ErrorCode()
	default:
		text = a.clean(cause(err))
	}
	return fmt.Errorf("%s: %s", what, text)
}

// cause is the text of the innermost error: what is around it tells of the SDK's own
// parts.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// maxSentence bounds what a server can put into logs and events.
const maxSentence = 600

// clean returns text as one line, without anything secret.
func (a *account) clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, secret := range a.secrets.list() {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "..."
	}
	return text
}
