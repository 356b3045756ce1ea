// Names, schemas and fixed answers that the conformance scenarios look for.
// Shared by fixture-legacy.mjs (asks by server-to-client requests) and
// fixture-modern.mjs (asks by input_required results), so that the two differ
// in protocol only.

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export const serverInfo = { name: 'conformance-fixture', version: '1.0.0' };
export const instructions = 'Fixture for the protocol conformance scenarios.';

export const text = (t) => ({ content: [{ type: 'text', text: t }] });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, mimeType, t) => ({ type: 'resource', resource: { uri, mimeType, text: t } });

const form = (properties, required) => ({ type: 'object', properties, required });
const one = (name, type = 'string') => form({ [name]: { type } }, [name]);
const say = (t, maxTokens) => ({
  messages: [{ role: 'user', content: { type: 'text', text: t } }],
  maxTokens,
});

// The questions a call asks, by round. Keys are what the modern fixture uses as
// inputRequests keys; a legacy question carries no key.
const elicit = (message, requestedSchema) => ({
  kind: 'elicit',
  params: { message, requestedSchema },
});
const sample = (t, maxTokens = 100) => ({ kind: 'sample', params: say(t, maxTokens) });
const roots = { kind: 'roots' };

export const asking = {
  test_input_required_result_elicitation: [
    { user_name: elicit('What is your name?', one('name')) },
  ],
  test_input_required_result_sampling: [
    { capital_question: sample('What is the capital of France?') },
  ],
  test_input_required_result_list_roots: [{ client_roots: roots }],
  test_input_required_result_request_state: [
    { confirm: elicit('Please confirm', one('ok', 'boolean')) },
  ],
  test_input_required_result_tampered_state: [
    { confirm: elicit('Please confirm', one('ok', 'boolean')) },
  ],
  test_input_required_result_multiple_inputs: [
    {
      user_name: elicit('What is your name?', one('name')),
      greeting: sample('Generate a greeting', 50),
      client_roots: roots,
    },
  ],
  test_input_required_result_multi_round: [
    { step1: elicit('Step 1: What is your name?', one('name')) },
    { step2: elicit('Step 2: What is your favorite color?', one('color')) },
  ],
  test_input_required_result_capabilities: [
    {
      user_name: elicit('What is your name?', one('name')),
      greeting: sample('Generate a greeting', 50),
    },
  ],
  test_streaming_elicitation: [{ answer: elicit('Continue?', one('ok', 'boolean')) }],
  test_missing_capability: [{ answer: sample('Only a client with sampling can answer this.') }],
};
// Calls that can do without an answer they did not get; all others fail then.
export const optionalAnswers = new Set(['test_input_required_result_capabilities']);
export const askingPrompts = {
  test_input_required_result_prompt: [
    { user_context: elicit('What context should the prompt use?', one('context')) },
  ],
};

// Only the 2025-11-25 scenarios call these; their questions depend on arguments.
export const legacyAsking = {
  test_sampling: (a) => [{ answer: sample(String(a.prompt)) }],
  test_elicitation: (a) => [
    {
      answer: elicit(
        String(a.message),
        form(
          {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          ['username', 'email'],
        ),
      ),
    },
  ],
  test_elicitation_sep1034_defaults: () => [
    {
      answer: elicit(
        'Please check the defaults',
        form(
          {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
            verified: { type: 'boolean', default: true },
          },
          [],
        ),
      ),
    },
  ],
  test_elicitation_sep1330_enums: () => {
    const titled = (word) =>
      [1, 2, 3].map((n) => ({
        const: `value${n}`,
        title: `${['First', 'Second', 'Third'][n - 1]} ${word}`,
      }));
    const plain = ['option1', 'option2', 'option3'];
    return [
      {
        answer: elicit(
          'Please choose',
          form(
            {
              untitledSingle: { type: 'string', enum: plain },
              titledSingle: { type: 'string', oneOf: titled('Option') },
              legacyEnum: {
                type: 'string',
                enum: ['opt1', 'opt2', 'opt3'],
                enumNames: ['Option One', 'Option Two', 'Option Three'],
              },
              untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
              titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
            },
            [],
          ),
        ),
      },
    ];
  },
};

export const fixedResults = {
  test_simple_text: text('This is a simple text response for testing.'),
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] },
  test_embedded_resource: {
    content: [
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
  },
  test_multiple_content_types: {
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  },
  test_error_handling: {
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  },
  json_schema_2020_12_tool: text('schema tool called'),
  test_header_param: text('header tool called'),
};

const schemas = {
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  test_header_param: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    required: ['region'],
  },
  test_sampling: one('prompt'),
  test_elicitation: one('message'),
};
const withoutTable = [
  'test_tool_with_progress',
  'test_tool_with_logging',
  'test_logging_tool',
  'test_trigger_tool_change',
  'test_trigger_prompt_change',
];

export const tools = [
  ...Object.keys(fixedResults),
  ...withoutTable,
  ...Object.keys(asking),
  ...Object.keys(legacyAsking),
].map((name) => ({
  name,
  description: `Conformance fixture: ${name}`,
  inputSchema: schemas[name] ?? { type: 'object', properties: {} },
}));
export const extraTool = {
  name: 'test_extra_tool',
  description: 'Comes and goes',
  inputSchema: { type: 'object' },
};

const user = (content) => ({ role: 'user', content });
const prompt = (name, args = []) => ({
  name,
  description: `Conformance fixture: ${name}`,
  arguments: args.map((a) => ({ name: a, description: a, required: true })),
});
export const prompts = [
  prompt('test_simple_prompt'),
  prompt('test_prompt_with_arguments', ['arg1', 'arg2']),
  prompt('test_prompt_with_embedded_resource', ['resourceUri']),
  prompt('test_prompt_with_image'),
  prompt('test_input_required_result_prompt'),
];
export const extraPrompt = prompt('test_extra_prompt');
export const promptResults = {
  test_simple_prompt: () => ({
    messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' })],
  }),
  test_prompt_with_arguments: (a) => ({
    messages: [
      user({ type: 'text', text: `Prompt with arguments: arg1='${a.arg1}', arg2='${a.arg2}'` }),
    ],
  }),
  test_prompt_with_embedded_resource: (a) => ({
    messages: [
      user(embedded(a.resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      user({ type: 'text', text: 'Please process the embedded resource above.' }),
    ],
  }),
  test_prompt_with_image: () => ({
    messages: [user(image), user({ type: 'text', text: 'Please analyze the image above.' })],
  }),
};
export const promptFromAnswers = (answers) => ({
  messages: [user({ type: 'text', text: `Answers: ${JSON.stringify(answers)}` })],
});

const resource = (uri, mimeType) => ({
  uri,
  name: uri.slice('test://'.length),
  description: `Conformance fixture: ${uri}`,
  mimeType,
});
export const resources = [
  resource('test://static-text', 'text/plain'),
  resource('test://static-binary', 'image/png'),
  resource('test://watched-resource', 'text/plain'),
];
export const resourceTemplates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'Conformance fixture',
    mimeType: 'application/json',
  },
];
// undefined = no such resource
export function readResource(uri) {
  if (uri === 'test://static-text')
    return {
      contents: [
        { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
      ],
    };
  if (uri === 'test://static-binary')
    return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] };
  if (uri === 'test://watched-resource')
    return { contents: [{ uri, mimeType: 'text/plain', text: 'watched' }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id)
    return {
      contents: [
        {
          uri,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    };
}

export const complete = (value) => ({
  completion: {
    values: ['paris', 'park', 'party'].filter((v) => v.startsWith(value)),
    hasMore: false,
  },
});
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

// Builds the answer text of an asking tool from the answers of all rounds.
export function answerText(name, answers) {
  if (name === 'test_input_required_result_elicitation')
    return text(`Hello, ${answers.user_name.content.name}!`);
  if (name === 'test_input_required_result_request_state') return text('state-ok');
  return text(`Answers: ${JSON.stringify(answers)}`);
}
