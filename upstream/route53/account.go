package route53

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
)

const (
	// defaultRegion signs requests where nothing names a region: Route 53 has one
	// endpoint for all regions of a partition.
	defaultRegion = "us-east-1"
	// callTimeout bounds one request, its retries counted singly.
	callTimeout    = 60 * time.Second
	defaultRetries = 3
	sessionName    = "clusterzone"
)

// An account is one set of credentials with its client. It is safe for concurrent
// use.
type account struct {
	name    string // for messages; "" where there is one account
	client  *sdk.Client
	writes  func(*sdk.Options) // of calls that write
	secrets *secrets
	// counts says that the role may not read single zones, so that a zone's count of
	// record sets is taken from the list of zones.
	counts atomic.Bool
}

// accounts makes an account of each profile. Nothing is sent yet: credentials are
// asked for by the first call.
func accounts(ctx context.Context, options *Options, load ...func(*config.LoadOptions) error) ([]*account, error) {
	profiles := options.Profiles
	if len(profiles) == 0 {
		profiles = []string{""}
	}
	var list []*account
	for _, profile := range slices.Compact(slices.Sorted(slices.Values(profiles))) {
		a, err := newAccount(ctx, options, profile, load)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func newAccount(ctx context.Context, options *Options, profile string, load []func(*config.LoadOptions) error) (*account, error) {
	load = append([]func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithDefaultRegion(defaultRegion),
	}, load...)
	if profile != "" {
		load = append(load, config.WithSharedConfigProfile(profile))
	}
	a := &account{name: profile, secrets: &secrets{external: options.ExternalID}}
	loaded, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("the settings of AWS can't be read (--aws-profile, AWS_PROFILE, the shared configuration): %s", a.clean(cause(err)))
	}
	provider := loaded.Credentials
	if options.AssumeRole != "" {
		service := sts.NewFromConfig(loaded)
		provider = stscreds.NewAssumeRoleProvider(service, options.AssumeRole, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = sessionName
			if options.ExternalID != "" {
				o.ExternalID = aws.String(options.ExternalID)
			}
		})
	}
	if provider == nil {
		provider = aws.AnonymousCredentials{}
	}
	budget := NewBudget(0, 0)
	if options.Budgets != nil {
		budget = options.Budgets(profile + " " + options.AssumeRole)
	}
	tries := cmp.Or(options.Retries, defaultRetries)
	a.writes = func(o *sdk.Options) { o.Retryer = retryWrites(tries) }
	a.client = sdk.NewFromConfig(loaded, func(o *sdk.Options) {
		o.Credentials = aws.NewCredentialsCache(a.secrets.watch(provider))
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts = tries })
		next := o.HTTPClient
		if buildable, ok := next.(*awshttp.BuildableClient); ok {
			next = buildable.WithTimeout(callTimeout)
		}
		o.HTTPClient = paced{next, budget}
		if options.Endpoint != "" {
			o.BaseEndpoint = aws.String(options.Endpoint)
		}
	})
	return a, nil
}

// retryWrites repeats a request only where Route 53 says that it did nothing of it.
// A reply that was lost is not asked for again: the zone is listed in its place.
func retryWrites(tries int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = tries
		o.Retryables = []retry.IsErrorRetryable{
			retry.NoRetryCanceledError{},
			retry.RetryableError{}, // the clock is wrong, and the SDK knows now by how much
			retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes},
		}
	})
}

// secrets are what must not stand in any message: what requests were signed with
// last, and the external ID.
type secrets struct {
	external string

	mu   sync.Mutex
	last aws.Credentials
}

// list returns the secrets that are long enough to be told from other text, the
// longest first.
func (s *secrets) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []string{s.external, s.last.AccessKeyID, s.last.SecretAccessKey, s.last.SessionToken}
	list = slices.DeleteFunc(list, func(secret string) bool { return len(strings.TrimSpace(secret)) < 4 })
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return list
}

// watch returns a provider that remembers what next gave last, and marks its errors.
func (s *secrets) watch(next aws.CredentialsProvider) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		found, err := next.Retrieve(ctx)
		if err != nil {
			return found, &credentialsError{err}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = found
		return found, nil
	})
}
